(** * How the code draws a set: levels, tiles and refusals

    Items are numbered 0, 1, ..., d - 1, but only the first c by falling score: none that follows one of them has
    a larger score ([ranked]). The others are counted in levels; [lev y] is the top of the level of item y, a
    bound on its score ([levels]).

    - [level_weight k]: the weight of the class k (subset_classes.v) as if its last item had the score of the top of
      its level: C(y - x - 1, c - x - 1) e^(- r (q(x) - lev(y))); the top c have their own weight.
    - [tile k]: the tile that the class k is in; [cells l]: the classes of the tile l; [bound l]: what is known to be no
      less than the number of its classes times the weight of any of them ([bounds]).
    - [attempt]: a tile in proportion to its bound; a class, uniform in the tile; accepted with the ratio of its weight
      to its share of the bound; a uniform member S of the class; accepted with e^(- r (lev(y) - min score in S)).

    What is exported, for 0 < c < d, r >= 0:
    - [attempt_sums_to_one], [attempt_accepts]: an attempt is a whole law, and accepts a set S of c items with
      probability e^(- r loss(S)) / (sum of all bounds). [attempt_may_end]: it is not always refused.
    - [subset_by_tiles]: what n attempts accept has the law of [subset_mechanism], whatever n is.

    How tiles are found, and what bounds are computed in floats, is free: only [bounds] matters. *)

From Sparsegate Require Import prelude.
(* Sets are finite here, and not those of the classical library. *)
From mathcomp Require Import finset.
From Sparsegate Require Import sums programs exponential_mechanism subset subset_classes rejection.
From Sparsegate Require Import noisy_scores.
Local Open Scope ring_scope.

Section Tiles.
Context {R : realType} {L : finType}.
Variables (d c : nat) (q lev : nat -> R) (r : R).
Implicit Types (S : {set 'I_d}) (x y i j : 'I_d) (k : option ('I_d * 'I_d)) (l : L).

Hypothesis c_between : (0 < c < d)%N.
Hypothesis r_ge0 : 0 <= r.
Hypothesis ranked : forall x j : nat, (x < c)%N -> (x <= j < d)%N -> q j <= q x.
Hypothesis levels : forall y : nat, (c <= y < d)%N -> q y <= lev y.

Let score i : R := q i.

Definition level_weight k : R :=
  match k with
  | Some (x, y) => 'C(y - x.+1, c - x.+1)%:R * expR (- (r * (q x - lev y)))
  | None => expR (- (r * set_loss score (places_below d c)))
  end.

Definition is_class k := if k is Some (x, y) then (x < c <= y)%N else true.

Variables (tile : option ('I_d * 'I_d) -> L) (bound : L -> R).

Definition cells l := [set k | is_class k & tile k == l].

Hypothesis bounds : forall k, is_class k -> #|cells (tile k)|%:R * level_weight k <= bound (tile k).
Hypothesis used : forall l, cells l != set0.

Definition makes_up k S : R :=
  if k is Some (x, y) then expR (- (r * (lev y - lowest score S))) else 1.

Definition attempt : {distr (option {set 'I_d}) / R} :=
  \dlet_(l <- proportional bound) \dlet_(k <- duni (enum (cells l)))
  guarded (#|cells l|%:R * level_weight k / bound l)
    (\dlet_(S <- member c k) guarded (makes_up k S) (dunit (Some S))).

Lemma level_weight_gt0 k : is_class k -> 0 < level_weight k.
Proof.
case: k => [[x y]|] /=; last by rewrite expR_gt0.
case/andP=> xc cy; rewrite mulr_gt0 ?expR_gt0 // ltr0n bin_gt0 leq_sub2r //.
Qed.

Lemma cells_gt0 l : (0 < #|cells l|)%N.
Proof. by rewrite card_gt0. Qed.

Lemma tile_bound_gt0 l : 0 < bound l.
Proof.
have /set0Pn[k] := used l; rewrite inE => /andP[k_in /eqP kl]; have := bounds k_in; rewrite kl.
by apply: lt_le_trans; rewrite mulr_gt0 ?level_weight_gt0 // ltr0n cells_gt0.
Qed.

Lemma class_size x y S : S \in class c x y -> (x < c <= y)%N ->
  0 <= lev y - lowest score S /\ set_loss score S = q x - lowest score S.
Proof.
rewrite inE => /and5P[_ /subsetP sub xS yS _] /andP[xc cy]; split.
  rewrite subr_ge0; apply: le_trans (levels (y := y) _); last by rewrite cy ltn_ord.
  by rewrite /lowest ler_oppl; apply: (highest_ge (fun i => - score i)).
rewrite /set_loss (highest_is (i := x)) ?inE // => j; rewrite inE => jS.
apply: ranked => //; rewrite ltn_ord andbT leqNgt; apply/negP => lt.
by move/negP: jS; apply; apply: sub; rewrite inE.
Qed.

(** What was left out by a level is made up for. *)
Lemma accepted k S : is_class k ->
  level_weight k * (member c k S * makes_up k S) = (S \in class_block c k)%:R * expR (r * - set_loss score S).
Proof.
case: k => [[x y]|] /= xy; last first.
  rewrite dunit1E inE eq_sym mulr1 mulrC; have [->|_] := eqVneq S (places_below d c); last by rewrite !mul0r.
  by rewrite mulrN.
rewrite -/(member c (Some (x, y))) member_uniform // xy.
have [S_in|_] := boolP (S \in class c x y); last by rewrite !mul0r mulr0.
have [_ ->] := class_size S_in xy; rewrite -class_count // mul1r.
have nz : #|class c x y|%:R != 0 :> R by rewrite pnatr_eq0 cards_eq0; apply/set0Pn; exists S.
rewrite mulrACA divff // mul1r mul1r -expRD; congr expR.
by rewrite -opprD -mulrDr subrKA mulrN.
Qed.

Lemma makes_up01 k S : is_class k -> S \in class_block c k -> 0 <= makes_up k S <= 1.
Proof.
case: k => [[x y]|] /=; last by rewrite ler01 lexx.
move=> xy; rewrite xy => S_in; rewrite (ltW (expR_gt0 _)) -expR0 ler_expR oppr_le0 mulr_ge0 //.
by case: (class_size S_in xy).
Qed.

Lemma member_block k S : is_class k -> member c k S != 0 :> R -> S \in class_block c k.
Proof.
case: k => [[x y]|] xy; last first.
  by rewrite /= dunit1E pnatr_eq0 eqb0 negbK inE eq_sym.
rewrite member_uniform //= (_ : (x < c <= y)%N = true) //.
by case: (S \in class c x y) => //; rewrite mul0r eqxx.
Qed.

Lemma second_step k S : is_class k ->
  (\dlet_(S' <- member c k) guarded (makes_up k S') (dunit (Some S'))) (Some S) = member c k S * makes_up k S.
Proof.
move=> k_in; rewrite dletE (psum_point (x := S)) => [|S' ne].
  have [->|/member_block S_in] := eqVneq (member c k S : R) 0; first by rewrite !mul0r normr0.
  have up01 := makes_up01 k_in (S_in k_in).
  rewrite guarded_some // dunit1E eqxx mulr1 ger0_norm // mulr_ge0 //.
  by case/andP: up01.
have [->|/member_block S_in] := eqVneq (member c k S' : R) 0; first by rewrite mul0r.
rewrite guarded_some ?makes_up01 ?S_in // dunit1E (inj_eq (@Some_inj _)) (negbTE ne) !mulr0 //.
Qed.

Theorem attempt_accepts S :
  attempt (Some S) = (\sum_l bound l)^-1 * (if #|S| == c then expR (r * - set_loss score S) else 0).
Proof.
have -> : (#|S| == c) = (S \in sets_of c) by rewrite inE.
rewrite -(one_block c_between) mulr_sumr dletE psum_fin.
rewrite [RHS](partition_big tile predT) //=; apply: eq_bigr => l _.
rewrite ger0_norm ?mulr_ge0 // proportionalE => [|l']; last exact: ltW (tile_bound_gt0 _).
rewrite dletE psum_fin mulr_sumr [RHS]big_mkcond /=; apply: eq_bigr => k _.
rewrite ger0_norm ?mulr_ge0 // duni1E undup_id ?enum_uniq // mem_enum -cardE [in LHS]inE.
have [k_in|k_out] := boolP (is_class k); last first.
  rewrite !mul0r mulr0; case: k k_out => [[x y]|] //= /negbTE ->.
  by rewrite inE mul0r mulr0; case: ifP.
case: eqP => [<-|_]; last by rewrite !mul0r mulr0.
have b0 := tile_bound_gt0 (tile k); have n0 : 0 < #|cells (tile k)|%:R :> R by rewrite ltr0n cells_gt0.
rewrite guarded_some; last first.
  rewrite divr_ge0 ?(ltW b0) ?mulr_ge0 ?(ltW n0) ?(ltW (level_weight_gt0 k_in)) //=.
  by rewrite ler_pdivr_mulr // mul1r bounds.
rewrite second_step // -accepted //.
move: (member _ _ _ * _) (level_weight k) (\sum_l _) => v w B.
rewrite mul1r -!mulrA mulKf ?gt_eqF // mulrCA; congr (_ * _).
by rewrite mulrCA mulVKf ?gt_eqF.
Qed.

Lemma member_mass k : is_class k -> psum (member c k : {distr {set 'I_d} / R}) = 1.
Proof.
case: k => [[x y]|] /= xy; last exact: dunit_mass_one.
apply: dlet_mass_one => [|U]; last exact: dunit_mass_one.
apply: duni_mass; first exact: enum_uniq.
have lt : (x < y)%N by case/andP: xy => xc; apply: leq_trans.
rewrite -size_eq0 -cardE cards_draws between_card // -lt0n bin_gt0.
by rewrite leq_sub2r //; case/andP: xy.
Qed.

Theorem attempt_sums_to_one : psum attempt = 1.
Proof.
have l0 : L by apply: tile None.
apply: dlet_mass_one => [|l].
  by apply: (proportional_sums_to_one (x := l0)) => [l|]; [apply: ltW|]; apply: tile_bound_gt0.
apply: dlet_mass_in => [|k].
  apply: duni_mass; first exact: enum_uniq.
  by rewrite -size_eq0 -cardE -lt0n cells_gt0.
rewrite duni1E mem_enum inE => k_in; apply: guarded_mass_one.
apply: dlet_mass_one => [|S]; last by apply: guarded_mass_one; apply: dunit_mass_one.
by apply: member_mass; case: (is_class k) k_in => //; rewrite mul0r eqxx.
Qed.

Theorem attempt_may_end : attempt None < 1.
Proof.
have /andP[_ cd] := c_between; rewrite -attempt_sums_to_one option_mass ltr_addl.
rewrite (bigD1 (places_below d c)) //= ltr_paddr ?sumr_ge0 // attempt_accepts below_card ?eqxx ?(ltnW cd) //.
rewrite mulr_gt0 ?expR_gt0 // invr_gt0 (bigD1 (tile None)) //= ltr_paddr ?tile_bound_gt0 //.
by apply: sumr_ge0 => l _; apply: ltW (tile_bound_gt0 _).
Qed.

Theorem subset_by_tiles n S :
  tries attempt n (Some S) = (1 - tries attempt n None) * subset_mechanism r score c S.
Proof.
apply: rejection_law; first exact: attempt_sums_to_one.
  by move=> S'; apply: weight_ge0.
by move=> S'; rewrite attempt_accepts /weight inE.
Qed.

End Tiles.
