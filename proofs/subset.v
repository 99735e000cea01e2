(** * The exponential mechanism over sets

    All c items at once, by how far the set is from being the top c. Items are a finite type [I], [q] gives
    every item its score, a real number.

    - [highest q A], [lowest q A]: the largest and the smallest score in the set [A] (0 where [A] is empty).
    - [set_loss q S] = max score outside S - min score in S; it is not cut off at zero.
    - [subset_mechanism a q c]: a set S of c items, with probability proportional to e^(-a loss(S)).
    - [subset_rate eps Delta monotonic]: the factor a as the code computes it: eps / (4 Delta) in general,
      eps / (2 Delta) for monotonic scores.

    What is exported:
    - [subset_sums_to_one]: c of at least c items are drawn with probability one.
    - [subset_selects]: exactly the sets of c items have a positive probability.
    - [loss_moves]: one person moves the loss of every set by at most 2 Delta, or Delta if monotonic.
    - [subset_is_private]: the set is eps-private at [subset_rate eps Delta monotonic].
    - [subset_is_tight]: for c = 1, d = 2 it is eps'-private for no eps' < eps.

    Neighbours are symmetric ([scores_move_sym]), so this is both directions. c = d, where the code returns all items
    without a draw, is no exception: the only set is drawn. *)

From Sparsegate Require Import prelude.
(* Sets are finite here, and not those of the classical library. *)
From mathcomp Require Import finset.
From Sparsegate Require Import privacy exponential_mechanism.
Local Open Scope ring_scope.

Section Extremes.
Context {R : realType} {I : finType}.
Implicit Types (q : I -> R) (A S : {set I}) (k : R).

Definition highest q A : R :=
  if [pick i in A] is Some i then q [arg max_(j > i in A) q j]%O else 0.

Definition lowest q A : R := - highest (fun i => - q i) A.

Definition set_loss q S : R := highest q (~: S) - lowest q S.

Lemma highest0 q : highest q set0 = 0.
Proof. by rewrite /highest; case: pickP => // i; rewrite inE. Qed.

Lemma highest_ge q A i : i \in A -> q i <= highest q A.
Proof.
move=> iA; rewrite /highest; case: pickP => [k kA|/(_ i)]; last by rewrite iA.
by case: Order.TotalTheory.arg_maxP => // j jA; apply.
Qed.

Lemma highest_in q A : A != set0 -> exists2 i, i \in A & highest q A = q i.
Proof.
case/set0Pn=> k kA; rewrite /highest; case: pickP => [m mA|/(_ k)]; last by rewrite kA.
by case: Order.TotalTheory.arg_maxP => // j jA _; exists j.
Qed.

Lemma highest_is q A i : i \in A -> {in A, forall j, q j <= q i} -> highest q A = q i.
Proof.
move=> iA max; apply/eqP; rewrite eq_le highest_ge // andbT.
have [|j jA ->] := @highest_in q A; last exact: max.
by apply/set0Pn; exists i.
Qed.

Lemma lowest_is q A i : i \in A -> {in A, forall j, q i <= q j} -> lowest q A = q i.
Proof.
by move=> iA min; rewrite /lowest (highest_is iA) ?opprK // => j /min; rewrite ler_opp2.
Qed.

(** No maximum moves more than all scores do; 0 <= k is for the empty set. *)
Lemma highest_le q q' A k : 0 <= k -> (forall i, q i <= q' i + k) -> highest q A <= highest q' A + k.
Proof.
move=> k0 h; have [->|ne] := eqVneq A set0; first by rewrite !highest0 add0r.
by have [i iA ->] := highest_in q ne; apply: le_trans (h i) _; rewrite ler_add2r highest_ge.
Qed.

Lemma lowest_le q q' A k : 0 <= k -> (forall i, q i <= q' i + k) -> lowest q A <= lowest q' A + k.
Proof.
move=> k0 h; rewrite /lowest -ler_subl_addr -opprD ler_opp2; apply: highest_le => // i.
by rewrite -ler_subl_addr -opprD ler_opp2.
Qed.

End Extremes.

Section Subset.
Context {R : realType} {I : finType}.
Implicit Types (q : I -> R) (S : {set I}) (eps Delta : R).

Lemma difference (h l h' l' : R) : h - l - (h' - l') = (h - h') + (l' - l).
Proof. by rewrite opprB [l' - _]addrC addrACA [- l + _]addrC. Qed.

Lemma loss_up q q' S Delta : 0 <= Delta ->
  (forall i, q i <= q' i <= q i + Delta) -> `|set_loss q S - set_loss q' S| <= Delta.
Proof.
move=> D0 h; have up i : q i <= q' i + 0 by rewrite addr0; case/andP: (h i).
have down i : q' i <= q i + Delta by case/andP: (h i).
have := highest_le (~: S) (lexx 0) up; have := highest_le (~: S) D0 down.
have := lowest_le S (lexx 0) up; have := lowest_le S D0 down; rewrite /set_loss !addr0.
move: (highest q _) (highest q' _) (lowest q _) (lowest q' _) => h1 h2 l1 l2 a b a' b'.
rewrite difference ler_norml; apply/andP; split.
  by rewrite -[- Delta]addr0 ler_add ?subr_ge0 // ler_oppl opprB ler_subl_addl.
by rewrite -[Delta]add0r ler_add ?subr_le0 // ler_subl_addl.
Qed.

Theorem loss_moves monotonic q q' S Delta : 0 <= Delta -> scores_move monotonic Delta q q' ->
  `|set_loss q S - set_loss q' S| <= score_sides monotonic * Delta.
Proof.
move=> D0; case: monotonic => /=; rewrite /score_sides ?mul1r.
  by case=> h; [|rewrite distrC]; apply: loss_up.
move=> h; have one (p p' : I -> R) : (forall i, `|p i - p' i| <= Delta) -> set_loss p S - set_loss p' S <= 2 * Delta.
  move=> near; have le i : p i <= p' i + Delta.
    by rewrite -ler_subl_addl; apply: le_trans (near i); apply: ler_norm.
  have ge i : p' i <= p i + Delta.
    by rewrite -ler_subl_addl; apply: le_trans (near i); rewrite distrC; apply: ler_norm.
  rewrite /set_loss difference mulrDl mul1r ler_add // ler_subl_addl; first exact: highest_le.
  exact: lowest_le.
by rewrite ler_norml ler_oppl opprB !one // => i; rewrite distrC.
Qed.

Definition sets_of c := [set S : {set I} | #|S| == c].

Definition subset_mechanism a q c : {distr {set I} / R} := exponential a (fun S => - set_loss q S) (sets_of c).

Definition subset_rate eps Delta monotonic : R := selection_rate eps 2 Delta monotonic.

Theorem subset_sums_to_one a q c : (c <= #|I|)%N -> psum (subset_mechanism a q c) = 1.
Proof.
move=> le; apply: exponential_sums_to_one; rewrite -card_gt0.
have := card_draws I c; rewrite -/(sets_of c) => ->.
by rewrite bin_gt0.
Qed.

Theorem subset_selects a q c S : (0 < subset_mechanism a q c S) = (#|S| == c).
Proof. by rewrite exponential_gt0 inE. Qed.

Theorem subset_is_private monotonic eps Delta q q' c :
  0 <= eps -> 0 < Delta -> scores_move monotonic Delta q q' ->
  within eps (subset_mechanism (subset_rate eps Delta monotonic) q c)
             (subset_mechanism (subset_rate eps Delta monotonic) q' c).
Proof.
move=> e0 D0 h.
have -> : subset_rate eps Delta monotonic = selection_rate eps 1 (score_sides monotonic * Delta) false.
  by rewrite /subset_rate /selection_rate mulr1 mulrA [2 * _]mulrC.
apply: exponential_is_private => //=; first by rewrite mulr_gt0 ?sides_gt0.
by move=> S /=; rewrite opprK addrC distrC; apply: loss_moves => //; apply: ltW.
Qed.

End Subset.

(** ** The constants are the best

    One of two items, c = 1: with x the lead of the first, P[first] = 1 / (1 + e^(-2 a x)). The lead can move by 2 Delta,
    or by Delta if monotonic, the exponent by eps. Where the first item is unlikely, so does its probability. *)
Section Tight.
Context {R : realType}.
Implicit Types (q : bool -> R) (a x eps Delta : R).

Let lead x : bool -> R := fun b => if b then x else 0.

Lemma two_losses q b : set_loss q [set b] = q (~~ b) - q b.
Proof.
rewrite /set_loss (highest_is (i := ~~ b)) ?(lowest_is (i := b)) ?inE //; try by case: b.
- by move=> j; rewrite inE => /eqP ->.
- by move=> j; rewrite !inE; case: j b => [] [].
Qed.

Lemma two_sets a q : subset_mechanism a q 1%N [set true] = (1 + expR (- (a * (q true - q false)) *+ 2))^-1.
Proof.
rewrite /subset_mechanism exponentialE inE cards1 eqxx /total_weight.
have -> : sets_of (I := bool_finType) 1%N = [set [set true]; [set false]].
  by apply/setP=> S; rewrite !inE; apply/cards1P/orP => [[[] ->]|[/eqP|/eqP] ->]; [left|right|exists true|exists false].
rewrite big_setU1 ?big_set1 /=; last by rewrite inE (inj_eq set1_inj).
rewrite !two_losses /= !opprB; set u := a * (q true - q false).
have -> : a * (q false - q true) = - u by rewrite /u -mulrN opprB.
have -> : expR u + expR (- u) = expR u * (1 + expR (- u *+ 2)).
  by rewrite mulr2n expRD mulrDr mulr1 mulrA expRxMexpNx_1 mul1r.
by rewrite invfM mulrA divff ?mul1r // gt_eqF ?expR_gt0.
Qed.

Theorem subset_is_tight monotonic eps eps' Delta : 0 < eps -> 0 < Delta -> eps' < eps ->
  exists q q' : bool -> R, scores_move monotonic Delta q q' /\
  ~ within eps' (subset_mechanism (subset_rate eps Delta monotonic) q 1%N)
                (subset_mechanism (subset_rate eps Delta monotonic) q' 1%N).
Proof.
move=> e0 D0 lt; set a := subset_rate eps Delta monotonic.
have s0 : 0 < @score_sides R monotonic by apply: sides_gt0.
have a2 : a * (score_sides monotonic * Delta) *+ 2 = eps.
  by rewrite /a selection_rateK // -mulr_natr mulfVK // pnatr_eq0.
have a0 : 0 < a.
  by rewrite /a divr_gt0 // !mulr_gt0 // ltr0n.
have g0 : 0 < 1 - expR (eps' - eps) by rewrite subr_gt0 expR_lt1 subr_lt0.
pose u := expR eps' / (1 - expR (eps' - eps)).
have u0 : 0 < u by rewrite divr_gt0 ?expR_gt0.
have [x ux] : exists x, expR (- (a * x) *+ 2) = u.
  exists (- ln u / a / 2); rewrite -mulrN -!mulNr opprK -mulr_natr !mulrA mulfVK ?pnatr_eq0 //.
  by rewrite mulrC mulrA mulVf ?mul1r ?lnK ?posrE // gt_eqF.
pose q := lead x; pose q' : bool -> R := fun b => if b then x + Delta else if monotonic then 0 else - Delta.
exists q', q; split.
  rewrite /q /q' /scores_move; case: (monotonic) => /=.
    by right=> -[]; rewrite ?ler_addl ?lexx ?(ltW D0) ?add0r //.
  by move=> []; rewrite ?subr0 ?[x + _]addrC ?addrK ?normrN ger0_norm // ltW.
have lead' : q' true - q' false = x + score_sides monotonic * Delta.
  rewrite /q' /score_sides; case: (monotonic); rewrite ?subr0 ?mul1r // opprK -addrA.
  by rewrite mulrDl mul1r.
move/(_ [set true]); rewrite !two_sets lead' /q /lead subr0 ux.
rewrite mulrDr opprD mulrnDl expRD ux [- (a * (score_sides _ * _)) *+ 2]mulNrn a2.
have P0 : 0 < 1 + u * expR (- eps) by exact: addr_gt0 ltr01 (mulr_gt0 u0 (expR_gt0 _)).
have Q0 : 0 < 1 + u by exact: addr_gt0 ltr01 u0.
rewrite ler_pdivl_mulr // ler_pdivr_mull // mulrDl mul1r -mulrA -expRD [- eps + _]addrC.
have -> : expR eps' = u * (1 - expR (eps' - eps)) by rewrite /u mulfVK // gt_eqF.
by rewrite mulrBr mulr1 subrK ger_addr ler10.
Qed.

End Tight.
