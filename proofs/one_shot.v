(** * One-shot selection: one-sided noise once, and the c largest

    Every item i of a finite set has a whole score q i. All scores get geometric noise, which is never
    negative; the c largest are selected, largest first; ties are broken at random. For c = 1 this is
    permute-and-flip.

    - [one_shot a c q]: the selected items, in order, with noise of rate a (scale 1/a).

    What is exported:
    - [one_shot_sums_to_one]: it is a whole law.
    - [one_shot_selects]: every sequence that comes out has c different items.
    - [one_shot_is_private]: at rate eps / (2 c Delta), or eps / (c Delta) for monotonic scores, the sequence is
      eps-private, order included.

    The argument. Fix a selection. Let q become q' = q + d, and let t be the most that any d i is, but at least
    0. Raise the noisy score of every selected item by t, of every other by what its score moves. Then the
    noise of a selected item grows by t - d i >= 0, so that it stays in the support, and no other noise changes.
    Nobody else rises by more than t: the selection is the same. t - d i is at most Delta for monotonic scores,
    2 Delta in general, and there are c of them.

    The code adds exponential noise, real numbers. For whole scores that is the same law, by an argument that is
    not formal here: the whole part of an exponential variable is geometric at the same rate, its fraction is
    independent of it, and the order of d independent fractions is uniform, so they break ties at random.
    Floats are whole multiples of a power of two, with the rate and Delta in its units. *)

From Sparsegate Require Import prelude.
(* Sets are finite here, and not those of the classical library. *)
From mathcomp Require Import finset.
From Sparsegate Require Import privacy sums programs geometric independent noisy_scores noisy_selection.
From Sparsegate Require Import exponential_mechanism.
Local Open Scope ring_scope.

Section OneShot.
Context {R : realType} {I : finType}.
Implicit Types (a eps Delta : R) (q y e : {ffun I -> int}) (c : nat) (monotonic : bool).

Definition raised a (q : int) : {distr int / R} := \dlet_(z <- geometric a) dunit (q + z).

Definition raised_all a q : {distr {ffun I -> int} / R} := independent (fun i => raised a (q i)).

Definition one_shot a c q : {distr (seq I) / R} :=
  \dlet_(y <- raised_all a q) \dlet_(u <- ties) dunit (top c y u).

Theorem one_shot_sums_to_one a c q : 0 < a -> psum (one_shot a c q) = 1.
Proof.
move=> a0; apply: dlet_mass_one => [|y].
  apply: independent_mass => i; apply: dlet_mass_one => [|z]; last exact: dunit_mass_one.
  exact: geometric_sums_to_one.
by apply: dlet_mass_one => [|u]; [apply: ties_mass | apply: dunit_mass_one].
Qed.

Theorem one_shot_selects a c q s : one_shot a c q s != 0 -> (c <= #|I|)%N -> size s = c /\ uniq s.
Proof.
move=> /dinsupp_dlet[y _] /dinsupp_dlet[u _]; rewrite dunit1E pnatr_eq0 eqb0 negbK => /eqP <- le.
by rewrite size_top (minn_idPl le) top_uniq.
Qed.

Lemma raisedE a (q y : int) : raised a q y = geometric a (y - q).
Proof.
rewrite dletE (psum_point (x := y - q)) => [|z nz].
  by rewrite dunit1E addrCA subrr addr0 eqxx mulr1 ger0_norm.
by rewrite dunit1E addrC eq_sym -subr_eq eq_sym (negbTE nz) mulr0.
Qed.

(** If the sum moves by e while the score moves from q to q', the noise grows by e - (q' - q). *)
Lemma raised_aligned a (q q' y e : int) : 0 < a -> q' - q <= e ->
  raised a q y <= expR (a * (e - (q' - q))%:~R) * raised a q' (y + e).
Proof.
move=> a0 le; rewrite !raisedE.
have -> : y + e - q' = (y - q) + (e - (q' - q)) by rewrite opprB (addrCA e) subrKA addrA.
by apply: geometric_mass_ratio; rewrite // subr_ge0.
Qed.

Lemma one_shot_aligned a c q (q' : {ffun I -> int}) (t : int) (w : R) : 0 < a -> 0 <= w ->
  (forall i, q' i - q i <= t) -> (forall i, (t - (q' i - q i))%:~R <= w) ->
  within (a * (c%:R * w)) (one_shot a c q) (one_shot a c q').
Proof.
move=> a0 w0 let_ lew o.
pose S := take c o; pose e := [ffun i => if i \in S then t else q' i - q i].
have le_e i : q' i - q i <= e i by rewrite ffunE; case: ifP.
have cost : \sum_i a * (e i - (q' i - q i))%:~R <= a * (c%:R * w).
  rewrite -mulr_sumr ler_wpmul2l ?(ltW a0) // (bigID (mem S)) /= [X in _ + X]big1 => [|i iS]; last first.
    by rewrite ffunE (negbTE iS) subrr.
  rewrite addr0; apply: le_trans (_ : \sum_(i in S) w <= _).
    by apply: ler_sum => i iS; rewrite ffunE iS.
  rewrite sumr_const -[X in X <= _]mulr_natl ler_wpmul2r // ler_nat.
  by rewrite (leq_trans (card_size _)) // size_take; case: ltnP.
apply: le_trans (_ : expR (\sum_i a * (e i - (q' i - q i))%:~R) * one_shot a c q' o <= _);
  last by rewrite ler_wpmul2r // ler_expR.
apply: (independent_aligned (h := fun y => y + e)) => [y y' /addIr //|y i|y].
  have -> : (y + e) i = y i + e i by rewrite [LHS]ffunE.
  exact: raised_aligned.
rewrite !dletE; apply: le_psum; last exact: summable_mlet.
move=> u; rewrite mulr_ge0 //=; case: (eqVneq (ties u : R) 0) => [->|/ties_perm pu].
  by rewrite !mul0r.
rewrite ler_wpmul2l // !dunit1E ler_nat; case: eqP => // yo.
rewrite (top_aligned (t := t)) ?yo ?eqxx // => i; rewrite ffunE.
- by move=> io; rewrite /S -yo /top take_take // -/(top c y u) yo io.
- by case: ifP.
Qed.

(** The most that any score rises, but at least 0. *)
Lemma most_risen (d : I -> int) :
  exists t, [/\ 0 <= t, forall i, d i <= t & t = 0 \/ exists i, t = d i].
Proof.
have [/forallP none|/forallPn[k]] := boolP [forall i, d i <= 0]; first by exists 0; split=> //; left.
rewrite -ltNge => dk; have [i _ max] := @Order.TotalTheory.arg_maxP _ _ _ k xpredT d isT.
exists (d i); split=> [|j|]; last by right; exists i.
  by apply: le_trans (ltW dk) (max k isT).
exact: max.
Qed.

Theorem one_shot_is_private eps Delta monotonic c q (q' : {ffun I -> int}) :
  (0 < c)%N -> 0 < eps -> 0 < Delta ->
  scores_move monotonic Delta (fun i => (q i)%:~R) (fun i => (q' i)%:~R) ->
  within eps (one_shot (selection_rate eps c Delta monotonic) c q)
             (one_shot (selection_rate eps c Delta monotonic) c q').
Proof.
move=> c0 e0 D0 near; have [t [t0 let_ att]] := most_risen (fun i => q' i - q i).
have a0 : 0 < selection_rate eps c Delta monotonic.
  by rewrite divr_gt0 // !mulr_gt0 ?ltr0n ?sides_gt0.
have w0 : 0 <= score_sides monotonic * Delta by rewrite mulr_ge0 // ltW ?sides_gt0.
have c_nz : c%:R != 0 :> R by rewrite pnatr_eq0 -lt0n.
have paid : selection_rate eps c Delta monotonic * (c%:R * (score_sides monotonic * Delta)) = eps.
  by rewrite mulrCA selection_rateK // mulrC mulfVK.
rewrite -[X in within X]paid; apply: (one_shot_aligned c a0 w0 let_) => i; rewrite /score_sides.
rewrite !rmorphB; case: monotonic near {a0 w0 paid} => /=; rewrite ?mul1r.
  case=> h; have /andP[h1 h2] := h i.
    have t_le : t%:~R <= Delta.
      by case: att => [->|[j ->]]; [apply: ltW | rewrite rmorphB ler_subl_addl; case/andP: (h j)].
    by rewrite ler_subl_addr -[t%:~R]addr0 ler_add ?subr_ge0.
  have -> : t = 0.
    case: att => // -[j tj]; apply/eqP; rewrite eq_le t0 andbT tj subr_le0 -(ler_int R).
    by case/andP: (h j).
  by rewrite sub0r opprB ler_subl_addl.
move=> h; have t_le : t%:~R <= Delta.
  case: att => [->|[j ->]]; first exact: ltW.
  by rewrite rmorphB; apply: le_trans (h j); rewrite distrC; apply: ler_norm.
by rewrite mulrDl mul1r ler_add // opprB; apply: le_trans (h i); apply: ler_norm.
Qed.

End OneShot.
