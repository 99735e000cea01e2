(** * Labels that enough people have, where the labels themselves are private

    A data set is a list of persons, a person a list of labels. Nobody knows which labels there are.

    - [people data l]: how many persons have the label l.
    - [labels data]: the labels that occur, each once, sorted.
    - [kept_labels p data]: each label that occurs is kept by a coin of its own, with the chance
      p(people data l); released are the kept labels, sorted: a set.
    - [joins m person data data']: data' has one person more, who has at most m labels.

    With a = eps / m, d = delta / m, and p(n) = [chance a d s n] of partition_chances.v:

    - [kept_labels_sum_to_one]: it is a whole law.
    - [partition_selection_is_private]: (eps, delta)-DP, when a person joins and when one leaves.
    - [rounded_partition_selection_is_private]: so it is with the numbers of partition_rounding.v,
      with which the code tosses its coins.
    - [partition_selection_is_optimal]: no (a, d)-DP rule for one label keeps it more often than
      [optimal], at any number of people.

    Why: one label is an (a, d)-DP coin ([coin_within]); a label that nobody has on one side is a coin
    with chance 0 there ([kept_among]); at most m coins differ, and coins compose. *)

From Sparsegate Require Import prelude privacy sums programs approximate partition_chances partition_rounding.
Local Open Scope ring_scope.

Section Coin.
Context {R : realType}.
Implicit Types (a d x y : R) (p : nat -> R) (n : nat).

Lemma dflip_pr x (E : pred bool) : 0 <= x <= 1 ->
  \P_[dflip x] E = (E true)%:R * x + (E false)%:R * (1 - x).
Proof.
move=> x01; have /andP[x0 x1] := x01; rewrite /pr psum_fin /index_enum !unlock /= addr0.
by rewrite !dflip1E /mflip clamp_in01 // !ger0_norm ?mulr_ge0 ?ler0n ?subr_ge0.
Qed.

Lemma dflip_mass x : psum (dflip x) = 1.
Proof.
rewrite psum_fin /index_enum !unlock /= addr0 !dflip1E /mflip.
by rewrite !ger0_norm ?subr_ge0 ?cp01_clamp // addrCA subrr addr0.
Qed.

Lemma coin_within a d p n : 0 <= a -> 0 <= d -> fair a d p ->
  within_delta a d (dflip (p n)) (dflip (p n.+1)) /\
  within_delta a d (dflip (p n.+1)) (dflip (p n)).
Proof.
move=> a0 d0 h; have e1 : 1 <= expR a by rewrite -expR0 ler_expR.
have x01 := fair01 n h; have y01 := fair01 n.+1 h.
case: h => _ /(_ n) /andP[up _] /(_ n) rise /(_ n) fall.
have grow x y : 0 <= y -> x <= y -> x <= expR a * y + d.
  move=> y0 /le_trans; apply; apply: le_trans (_ : expR a * y <= _); last by rewrite ler_addl.
  by rewrite ler_pemull.
have both x y : x <= expR a * y + d -> 1 - x <= expR a * (1 - y) + d -> 0 <= x <= 1 -> 0 <= y <= 1 ->
    within_delta a d (dflip x) (dflip y).
  move=> kept lost x01' y01' E; rewrite !dflip_pr //.
  case: (E true) (E false) => [] []; rewrite /= ?mulr1n ?mulr0n ?mul1r ?mul0r ?addr0 ?add0r ?mulr0 ?add0r //.
  by rewrite (addrC x) (addrC y) !subrK; apply: grow; rewrite ?ler01.
case/andP: (x01) => x0 _; case/andP: (y01) => y0 y1.
split; apply: both => //; first exact: grow.
by apply: grow; rewrite ?subr_ge0 ?ler_sub //; case/andP: x01.
Qed.

(** A rule for one label, by how many people have it: a coin that is (a, d)-private from n to n + 1
    and back, and never keeps what nobody has, keeps no n more often than [optimal]. *)
Theorem partition_selection_is_optimal a d (rule : nat -> {distr bool / R}) :
  (forall n, psum (rule n) = 1) -> rule 0%N true = 0 ->
  (forall n, within_delta a d (rule n) (rule n.+1)) ->
  (forall n, within_delta a d (rule n.+1) (rule n)) ->
  forall n, rule n true <= optimal a d n.
Proof.
move=> mass none up down.
have lost n : rule n false = 1 - rule n true.
  rewrite -(mass n) psum_fin /index_enum !unlock /= addr0 !ger0_norm //.
  by rewrite addrAC subrr add0r.
apply: optimal_most => [|n|n|n]; rewrite ?none //.
- exact: le1_mu1.
- by have := down n (pred1 true); rewrite -!pr_pred1.
- by have := up n (pred1 false); rewrite -!pr_pred1 !lost.
Qed.

End Coin.

Section Kept.
Context {R : realType} {disp : unit} {L : orderType disp}.
Implicit Types (chance : L -> R) (l : L) (r person : seq L) (data : seq (seq L)).

Definition people data l : nat := count (fun person => l \in person) data.

Definition labels data : seq L := sort <=%O (undup (flatten data)).

Fixpoint toss_labels chance r : {distr (seq L) / R} :=
  if r is l :: r' then
    \dlet_(kept <- dflip (chance l)) \dlet_(s <- toss_labels chance r') dunit (if kept then l :: s else s)
  else dunit [::].

Definition kept_labels (p : nat -> R) data : {distr (seq L) / R} :=
  toss_labels (fun l => p (people data l)) (labels data).

Lemma toss_mass chance r : psum (toss_labels chance r) = 1.
Proof.
elim: r => [|l r IH] /=; first exact: dunit_mass_one.
apply: dlet_mass_one => [|b]; first exact: dflip_mass.
by apply: dlet_mass_one => // s; apply: dunit_mass_one.
Qed.

Theorem kept_labels_sum_to_one p data : psum (kept_labels p data) = 1.
Proof. exact: toss_mass. Qed.

(** What nobody has is not tossed for, and not kept if it were. *)
Lemma toss_filter chance r : toss_labels chance r =1 toss_labels chance [seq l <- r | chance l != 0].
Proof.
elim: r => [|l r IH] s //=; case: eqVneq => [c0|_] /=; last first.
  apply: eq_in_dlet => // b _ s'; exact: eq_in_dlet.
rewrite c0 dletE (psum_point (x := false)) => [|[] //]; last by rewrite dflip1E /mflip clamp0 mul0r.
rewrite dflip1E /mflip clamp0 subr0 mul1r ger0_norm // -IH.
exact: dlet_dunit_id.
Qed.

Lemma toss_within a d chance chance' r (moved : pred L) : 0 <= d ->
  (forall l, within_delta (a *+ moved l) (d *+ moved l) (dflip (chance l)) (dflip (chance' l))) ->
  within_delta (a *+ count moved r) (d *+ count moved r) (toss_labels chance r) (toss_labels chance' r).
Proof.
move=> d0 h; elim: r => [|l r IH] /=; first by move=> E; rewrite !mulr0n expR0 mul1r addr0.
rewrite !mulrnDr; apply: within_delta_compose => //; last by rewrite mulrn_wge0.
move=> b; exact: within_delta_post.
Qed.

Lemma labels_uniq data : uniq (labels data).
Proof. by rewrite sort_uniq undup_uniq. Qed.

Lemma mem_labels data l : (l \in labels data) = (0 < people data l)%N.
Proof.
rewrite mem_sort mem_undup /people -has_count.
by apply/flattenP/hasP => -[person]; exists person.
Qed.

Lemma kept_among p data r : p 0%N = 0 -> sorted <=%O r -> uniq r -> {subset labels data <= r} ->
  kept_labels p data =1 toss_labels (fun l => p (people data l)) r.
Proof.
move=> p0 sr ur sub s; rewrite /kept_labels toss_filter [RHS]toss_filter; congr (toss_labels _ _ s).
apply: (sorted_eq le_trans le_anti).
- exact/(sorted_filter le_trans)/sort_sorted/le_total.
- exact/(sorted_filter le_trans).
apply: uniq_perm; rewrite ?filter_uniq ?labels_uniq // => l; rewrite !mem_filter.
case: eqVneq => //= pl; have l_in : l \in labels data.
  by rewrite mem_labels lt0n; apply: contraNneq pl => ->; rewrite p0.
by rewrite l_in sub.
Qed.

(** One person more, who has at most m labels. *)
Definition joins m person data data' :=
  perm_eq data' (person :: data) /\ (size (undup person) <= m)%N.

Lemma joins_people m person data data' l : joins m person data data' ->
  people data' l = ((l \in person) + people data l)%N.
Proof. by case=> /permP pe _; rewrite /people pe. Qed.

Lemma fair_bar_is_private a d p m person data data' : 0 <= a -> 0 <= d -> fair a d p ->
  joins m person data data' ->
  within_delta (a *+ m) (d *+ m) (kept_labels p data) (kept_labels p data') /\
  within_delta (a *+ m) (d *+ m) (kept_labels p data') (kept_labels p data).
Proof.
move=> a0 d0 h j; have [p0 _ _ _] := h.
have sub : {subset labels data <= labels data'}.
  by move=> l; rewrite !mem_labels (joins_people l j) addn_gt0 orbC => ->.
have few : (count (mem person) (labels data') <= m)%N.
  rewrite -size_filter (leq_trans _ j.2) // uniq_leq_size ?filter_uniq ?labels_uniq // => l.
  by rewrite mem_filter mem_undup => /andP[].
have same := kept_among p0 (sort_sorted le_total _) (labels_uniq data') sub.
have weak mu nu : within_delta (a *+ count (mem person) (labels data'))
    (d *+ count (mem person) (labels data')) mu nu -> within_delta (a *+ m) (d *+ m) mu nu.
  by apply: within_delta_weaken; rewrite ler_wpmuln2l.
have zero x : within_delta 0 0 (dflip x : {distr bool / R}) (dflip x).
  by move=> E; rewrite expR0 mul1r addr0.
have coins l := coin_within (people data l) a0 d0 h.
have sameP E : \P_[kept_labels p data] E = \P_[toss_labels (fun l => p (people data l)) (labels data')] E.
  by apply: eq_psum => s; rewrite same.
split; apply: weak => E; rewrite sameP; apply: toss_within => // l;
    rewrite -[mem person l]/(l \in person) (joins_people l j).
  by case: (l \in person); rewrite /= ?mulr0n // ?mulr1n; case: (coins l).
by case: (l \in person); rewrite /= ?mulr0n // ?mulr1n; case: (coins l).
Qed.

(** The chances of the code, a and d being the shares of one label. *)
Theorem partition_selection_is_private eps delta m s person data data' :
  0 <= eps -> 0 <= delta -> (0 < m)%N -> joins m person data data' ->
  let p := chance (eps / m%:R) (delta / m%:R) s in
  within_delta eps delta (kept_labels p data) (kept_labels p data') /\
  within_delta eps delta (kept_labels p data') (kept_labels p data).
Proof.
move=> e0 d0 m0 j p; have whole (x : R) : x / m%:R *+ m = x.
  by rewrite -[LHS]mulr_natr divfK // pnatr_eq0 -lt0n.
have a0 : 0 <= eps / m%:R by rewrite divr_ge0 ?ler0n.
have d0' : 0 <= delta / m%:R by rewrite divr_ge0 ?ler0n.
have := fair_bar_is_private a0 d0' (fair_later s a0 d0' (optimal_fair a0 d0')) j.
by rewrite !whole.
Qed.

Theorem rounded_partition_selection_is_private eps delta (one grow shrink dl : int) m s
    person data data' :
  0 <= eps -> 0 <= delta -> (0 < m)%N -> joins m person data data' ->
  0 < one -> one <= grow -> grow%:~R <= expR (eps / m%:R) * one%:~R ->
  shrink <= one -> expR (- (eps / m%:R)) * one%:~R <= shrink%:~R ->
  0 <= dl -> dl%:~R <= delta / m%:R * one%:~R ->
  let p := rounded_chance one grow shrink dl s in
  within_delta eps delta (kept_labels p data) (kept_labels p data') /\
  within_delta eps delta (kept_labels p data') (kept_labels p data).
Proof.
move=> e0 d0 m0 j one0 g1 g2 s1 s2 l0 l1 p; have whole (x : R) : x / m%:R *+ m = x.
  by rewrite -[LHS]mulr_natr divfK // pnatr_eq0 -lt0n.
have a0 : 0 <= eps / m%:R by rewrite divr_ge0 ?ler0n.
have d0' : 0 <= delta / m%:R by rewrite divr_ge0 ?ler0n.
have fair := rounded_steps_fair one0 l0 g1 s1 a0 g2 s2 l1.
by have := fair_bar_is_private a0 d0' (fair_later s a0 d0' fair) j; rewrite !whole.
Qed.

End Kept.
