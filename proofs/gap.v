(** * An answer with its gap

    A gate with a gap says, where q + nu >= T + rho + kappa, by how much:

        Some g,  g = q + nu - T - rho - kappa >= 0     (ABOVE, with its gap)
        None,    where that is negative                (BELOW)

    [gap_answer law q T kappa rho] is the law of that answer, nu ~ law.

    Match rho with rho + s, and let the question move by d. Then the place of nu that gives the gap g
    moves by s - d: the mass there changes by |s - d| steps of the noise. A BELOW costs d - s steps, or
    nothing where d <= s. [gap_steps] is this number of steps, [all_steps] its sum over a list of
    answers. For two-sided noise s is any number ([laplace_gap_aligned]); one-sided noise needs s >= 0,
    and no answer of the list that moves by more than s ([geometric_gap_aligned]): there nu has no mass
    below 0.

    Nothing is exported from here; [exponential_gap.v] and [laplace_gap.v] use it. *)

From Sparsegate Require Import prelude privacy sums laplace geometric gate transcripts.
Local Open Scope ring_scope.

Section Step.
Context {R : realType}.
Implicit Types (law : {distr int / R}) (q T kappa rho s d g x : int) (b : option int).

(** ABOVE with its gap g, or BELOW. *)
Definition gap_of x : option int := if 0 <= x then Some x else None.

Definition gap_answer law q T kappa rho : {distr (option int) / R} :=
  \dlet_(nu <- law) dunit (gap_of (q + nu - T - rho - kappa)).

Lemma gap_answer_sums_to_one law q T kappa rho : psum law = 1 -> psum (gap_answer law q T kappa rho) = 1.
Proof. by move=> one; apply: dlet_sums_to_one => // nu; apply: dunit_sums_to_one. Qed.

Lemma gap_answerE law q T kappa rho b :
  gap_answer law q T kappa rho b =
  if b is Some g then if 0 <= g then law (g + (T + rho + kappa - q)) else 0
  else \P_[law] (fun nu => nu < T + rho + kappa - q).
Proof.
have E nu : q + nu - T - rho - kappa = nu - (T + rho + kappa - q).
  by rewrite opprB !opprD !addrA (addrC nu).
rewrite /gap_answer dletE; under eq_psum do rewrite E; move: (T + rho + kappa - q) => x.
case: b => [g|]; last first.
  apply: eq_psum => nu /=; rewrite dunit1E mulrC /gap_of subr_ge0 leNgt.
  by case: (nu < x).
rewrite (psum_point (x := g + x)) => [|nu ne].
  rewrite dunit1E /gap_of addrK; case: ifP => g0; first by rewrite eqxx mulr1 ger0_norm.
  by rewrite /= mulr0 normr0.
rewrite dunit1E /gap_of; case: ifP => _; last by rewrite /= mulr0.
case: eqP => [[gE]|_]; last by rewrite mulr0.
by move: ne; rewrite -gE subrK eqxx.
Qed.

(** What the answer [b] costs, in steps of the noise, where rho is matched with rho + s and the
    question moves by d. *)
Definition gap_steps s d b : int := if b is Some _ then `|s - d| else Num.max 0 (d - s).

Lemma gap_shift q q' T kappa rho s : T + (rho + s) + kappa - q' = T + rho + kappa - q + (s - (q' - q)).
Proof. by rewrite opprB !addrA (addrAC _ s kappa) (addrAC _ s q) subrK. Qed.

Lemma laplace_gap_ratio (a : R) q q' T kappa rho s b : 0 < a ->
  gap_answer (laplace a) q T kappa rho b <=
  expR (a * (gap_steps s (q' - q) b)%:~R) * gap_answer (laplace a) q' T kappa (rho + s) b.
Proof.
move=> a0; rewrite !gap_answerE (gap_shift q); move: (T + rho + _ - q) (q' - q) => x d.
case: b => [g|] /=.
  case: ifP => _; last by rewrite mulr0.
  by rewrite addrA; apply: laplace_mass_ratio.
rewrite -!/(laplace_below a _); case: (leP d s) => le.
  rewrite max_l ?subr_le0 // mulr0 expR0 mul1r.
  by apply: laplace_below_increases; rewrite ler_addl subr_ge0.
have le0 : 0 <= d - s by rewrite subr_ge0 ltW.
by rewrite max_r //; have := laplace_below_ratio x a0 le0; rewrite opprB.
Qed.

Lemma geometric_gap_ratio (a : R) q q' T kappa rho s b : 0 < a -> q' - q <= s ->
  gap_answer (geometric a) q T kappa rho b <=
  expR (a * (gap_steps s (q' - q) b)%:~R) * gap_answer (geometric a) q' T kappa (rho + s) b.
Proof.
move=> a0; rewrite !gap_answerE (gap_shift q); move: (T + rho + _ - q) (q' - q) => x d le.
have le0 : 0 <= s - d by rewrite subr_ge0.
case: b => [g|] /=.
  case: ifP => _; last by rewrite mulr0.
  by rewrite addrA ger0_norm //; apply: geometric_mass_ratio.
rewrite -!/(geometric_below a _) max_l ?subr_le0 // mulr0 expR0 mul1r.
by apply: geometric_below_increases; rewrite ler_addl.
Qed.

End Step.

Section Aligned.
Context {R : realType} {H : choiceType}.
Implicit Types (e a : R) (q T : H -> int) (kappa s : int) (l : seq (H * option int)).

(** What the answers of [l] cost in steps of the noise, where rho is matched with rho + s. *)
Definition all_steps q q' s l : int := \sum_(y <- l) gap_steps s (q' y.1 - q y.1) y.2.

Lemma laplace_gap_aligned e a q q' T kappa s l : 0 < e -> 0 < a ->
  likelihood (laplace e) (fun h => gap_answer (laplace a) (q h) (T h) kappa) l <=
  expR (e * `|s|%:~R + a * (all_steps q q' s l)%:~R) *
  likelihood (laplace e) (fun h => gap_answer (laplace a) (q' h) (T h) kappa) l.
Proof.
move=> e0 a0; rewrite /all_steps raddf_sum mulr_sumr; apply: likelihood_aligned.
- by move=> rho; apply: laplace_mass_ratio.
by move=> y _ rho; apply: laplace_gap_ratio.
Qed.

Lemma geometric_gap_aligned e a q q' T kappa s l : 0 < e -> 0 < a -> 0 <= s ->
  {in l, forall y, q' y.1 - q y.1 <= s} ->
  likelihood (geometric e) (fun h => gap_answer (geometric a) (q h) (T h) kappa) l <=
  expR (e * s%:~R + a * (all_steps q q' s l)%:~R) *
  likelihood (geometric e) (fun h => gap_answer (geometric a) (q' h) (T h) kappa) l.
Proof.
move=> e0 a0 s0 le; rewrite /all_steps raddf_sum mulr_sumr; apply: likelihood_aligned.
- by move=> rho; apply: geometric_mass_ratio.
by move=> y yl rho; apply: geometric_gap_ratio => //; apply: le.
Qed.

End Aligned.

(** How many steps the answers cost at most. *)
Section Steps.
Context {H : choiceType}.
Implicit Types (q : H -> int) (s : int) (l : seq (H * option int)).

Definition positives l := count isSome [seq y.2 | y <- l].
Definition negatives l := count (predC isSome) [seq y.2 | y <- l].

Lemma all_steps_le q q' s l (D i j : nat) :
  {in l, forall y, gap_steps s (q' y.1 - q y.1) y.2 <= ((if y.2 then i else j) * D)%:Z} ->
  all_steps q q' s l <= ((positives l * i + negatives l * j) * D)%:Z.
Proof.
rewrite /all_steps /positives /negatives; elim: l => [|y l IH] le; first by rewrite big_nil.
rewrite big_cons; apply: le_trans (ler_add (le y _) (IH _)) _.
- by rewrite inE eqxx.
- by move=> z zl; apply: le; rewrite inE zl orbT.
rewrite -PoszD lez_nat -mulnDl leq_mul2r; apply/orP; right.
by case: y {le} => h [g|] /=; rewrite ?add1n ?add0n mulSn; [rewrite addnA | rewrite addnCA].
Qed.

Lemma all_steps_rem q q' s l y : y \in l ->
  all_steps q q' s l = gap_steps s (q' y.1 - q y.1) y.2 + all_steps q q' s (rem y l).
Proof. by move=> yl; rewrite /all_steps (perm_big _ (perm_to_rem yl)) big_cons. Qed.

Lemma positives_rem l y : y \in l -> isSome y.2 -> positives l = (positives (rem y l)).+1.
Proof.
move=> yl y_some; rewrite /positives (permP (perm_map snd (perm_to_rem yl))) /=.
by rewrite y_some.
Qed.

Lemma positives_negatives l : (positives l + negatives l)%N = size l.
Proof. by rewrite /positives /negatives count_predC size_map. Qed.

Lemma none_negative l y : negatives l = 0%N -> y \in l -> isSome y.2.
Proof.
move=> /eqP; rewrite -leqn0 leqNgt -has_count => /hasPn none yl.
by have := none _ (map_f snd yl); rewrite /= negbK.
Qed.

End Steps.

(** The member of a list where f is largest. *)
Lemma exists_highest (T : choiceType) (f : T -> int) (l : seq T) : (0 < size l)%N ->
  exists2 y, y \in l & {in l, forall z, f z <= f y}.
Proof.
elim: l => // x [|z l] IH _; first by exists x; rewrite ?inE // => y; rewrite inE => /eqP->.
have [y yl le] := IH isT; have [xy|yx] := leP (f x) (f y).
  by exists y => [|u]; rewrite inE ?yl ?orbT // => /predU1P[->|/le].
exists x => [|u]; rewrite inE ?eqxx // => /predU1P[->//|/le le_u].
exact: le_trans le_u (ltW yx).
Qed.
