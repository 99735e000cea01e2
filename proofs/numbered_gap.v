(** * The gap and a fresh answer together

    The gate that the library opens by default, with an answers share: an ABOVE releases its gap ([gap.v]),
    and q + Lap(Delta/p), drawn afresh. [None] is BELOW, [Some (g, v)] is ABOVE with the gap g and the number v
    ([numbered_answer]). rho and nu are one-sided ([exponential]) or Laplace noise, of scales Delta/eps1 and Delta/r;
    the numbers have Laplace noise with either. Whoever asks sees gaps and numbers.

    [numbered_gap_gate_sums_to_one]: it is a whole law.

    [numbered_gap_transcript]: m BELOW and k ABOVE, with any gaps and numbers, are within e^(L + k p), where L is
    [exponential_gap_loss] or [laplace_gap_loss], what the transcript costs without its numbers.

    [numbered_gap_is_private]: with r = eps2 / (s c) and p = eps3 / c, closed after c ABOVE, the gate is
    (eps1 + eps2 + eps3)-DP; s = 2, and s = 1 where all answers move one way.

    The argument: given the questions, the numbers are independent of rho and of all else. So their likelihood
    is a factor of that of the transcript ([likelihood_numbered]), and each number costs p.

    Of the code: its L(m,k) for questions that move one way is smaller, since an answer that moves makes either its
    number dear or its gap. What is blended from gap and number is computed from what is released here. *)

From Sparsegate Require Import prelude privacy sums laplace geometric gate laplace_gate standard_gate.
From Sparsegate Require Import transcripts gap exponential_gap laplace_gap.
Local Open Scope ring_scope.

Section Answer.
Context {R : realType}.
Implicit Types (law : {distr int / R}) (b : R) (q T kappa rho : int) (x : option (int * int)).

Definition numbered_answer law b q T kappa rho : {distr (option (int * int)) / R} :=
  \dlet_(gap <- gap_answer law q T kappa rho)
    if gap is Some g then dmargin (fun z => Some (g, q + z)) (laplace b) else dunit None.

Lemma numbered_answer_sums_to_one law b q T kappa rho :
  psum law = 1 -> 0 < b -> psum (numbered_answer law b q T kappa rho) = 1.
Proof.
move=> one b0; apply: dlet_sums_to_one; first exact: gap_answer_sums_to_one.
case=> [g|]; last exact: dunit_sums_to_one.
apply: dlet_sums_to_one; first exact: laplace_sums_to_one.
by move=> z; apply: dunit_sums_to_one.
Qed.

Definition number b q x : R := if x is Some (_, v) then laplace b (v - q) else 1.

Lemma numbered_answerE law b q T kappa rho x :
  numbered_answer law b q T kappa rho x = gap_answer law q T kappa rho (omap fst x) * number b q x.
Proof.
rewrite /numbered_answer dletE (psum_point (x := omap fst x)).
  case: x => [[g v]|] /=; last by rewrite dunit1E eqxx !mulr1 ger0_norm.
  rewrite ger0_norm ?mulr_ge0 //; congr (_ * _); rewrite /dmargin dletE (psum_point (x := v - q)).
    by rewrite dunit1E [q + _]addrC subrK eqxx mulr1 ger0_norm.
  move=> z z_ne; rewrite dunit1E; case: eqP => [[z_eq]|_]; last by rewrite mulr0.
  by move: z_ne; rewrite -z_eq [q + z]addrC addrK eqxx.
move=> [g|] ne; last by case: x ne => [[g v]|] //= _; rewrite dunit1E mulr0.
rewrite /dmargin [X in _ * X]dlet_eq0 ?mulr0 // => z _.
by apply: contraNneq ne => <-.
Qed.

End Answer.

Section Likelihood.
Context {R : realType} {H : choiceType}.
Implicit Types (mu law : {distr int / R}) (b : R) (q T : H -> int) (l : seq (H * option (int * int))).

Definition gaps l : seq (H * option int) := [seq (y.1, omap fst y.2) | y <- l].
Definition numbers b q l : R := \prod_(y <- l) number b (q y.1) y.2.

Lemma number_ge0 b (x : int) (y : option (int * int)) : 0 <= number b x y :> R.
Proof. by case: y => [[g v]|] /=; rewrite ?ler01 ?ge0_mu. Qed.

Lemma likelihood_numbered mu law b q T kappa l :
  likelihood mu (fun h => numbered_answer law b (q h) (T h) kappa) l =
  numbers b q l * likelihood mu (fun h => gap_answer law (q h) (T h) kappa) (gaps l).
Proof.
rewrite /likelihood -psumZ ?prodr_ge0 // => [|y _]; last exact: number_ge0.
apply: eq_psum => rho /=; rewrite mulrCA; congr (_ * _).
rewrite /given /numbers /gaps big_map -big_split /=; apply: eq_bigr => y _.
by rewrite numbered_answerE mulrC.
Qed.

Lemma numbers_ratio (D : nat) (p : R) q q' l : (0 < D)%N -> 0 < p ->
  (forall h, `|q' h - q h| <= D%:Z) ->
  numbers (p / D%:R) q l <= expR ((count isSome [seq y.2 | y <- l])%:R * p) * numbers (p / D%:R) q' l.
Proof.
move=> D0 p0 near_q; have D_gt0 : 0 < D%:R :> R by rewrite ltr0n.
have b0 : 0 < p / D%:R by rewrite divr_gt0.
rewrite /numbers; elim: l => [|[h x] l IH]; first by rewrite !big_nil mul0r expR0 mulr1.
rewrite !big_cons /= natrD mulrDl expRD mulrACA; apply: ler_pmul => //; first exact: number_ge0.
  by apply: prodr_ge0 => y _; apply: number_ge0.
case: x => [[g v]|] /=; last by rewrite mul0r expR0 mulr1.
have -> : v - q' h = v - q h + (q h - q' h) by rewrite addrA subrK.
apply: le_trans (laplace_mass_ratio _ (q h - q' h) b0) _; rewrite ler_wpmul2r // ler_expR mul1r.
rewrite -[X in _ <= X](divfK (lt0r_neq0 D_gt0)) ler_wpmul2l ?(ltW b0) //.
by rewrite -[D%:R]/(D%:Z%:~R) ler_int distrC.
Qed.

Lemma positives_gaps l : positives (gaps l) = count isSome [seq y.2 | y <- l].
Proof. by rewrite /positives /gaps -map_comp !count_map; apply: eq_count => -[h [[g v]|]]. Qed.

Lemma negatives_gaps l : negatives (gaps l) = count (predC isSome) [seq y.2 | y <- l].
Proof. by rewrite /negatives /gaps -map_comp !count_map; apply: eq_count => -[h [[g v]|]]. Qed.

End Likelihood.

Section Gate.
Context {R : realType}.
Variables (exponential : bool) (c Delta : nat) (eps1 : R) (T : seq (option (int * int)) -> int) (kappa : int) (n : nat).
Implicit Types (q : seq (option (int * int)) -> int) (r p : R) (t : seq (option (int * int))).

Definition gate_noise : R -> {distr int / R} := if exponential then geometric else laplace.

Definition gate_loss : way -> R -> R -> nat -> nat -> R :=
  if exponential then exponential_gap_loss else laplace_gap_loss.

Definition numbered_gap_gate r p q : {distr (seq (option (int * int))) / R} :=
  gate (gate_noise (eps1 / Delta%:R)) (closed_after isSome c)
    (fun h => numbered_answer (gate_noise (r / Delta%:R)) (p / Delta%:R) (q h) (T h) kappa) n.

Hypotheses (Delta_gt0 : (0 < Delta)%N) (eps1_gt0 : 0 < eps1).

Let gate_noise_mass a : 0 < a -> psum (gate_noise a) = 1.
Proof. by rewrite /gate_noise; case: exponential; [apply: geometric_sums_to_one | apply: laplace_sums_to_one]. Qed.

Theorem numbered_gap_gate_sums_to_one r p q : 0 < r -> 0 < p -> psum (numbered_gap_gate r p q) = 1.
Proof.
move=> r0 p0; have D0 : 0 < Delta%:R :> R by rewrite ltr0n.
apply: gate_sums_to_one; first by apply: gate_noise_mass; apply: divr_gt0.
by move=> h rho; apply: numbered_answer_sums_to_one; rewrite ?gate_noise_mass ?divr_gt0.
Qed.

Theorem numbered_gap_transcript u r p q q' t : 0 < r -> 0 < p -> (forall h, moves u Delta (q' h - q h)) ->
  numbered_gap_gate r p q t <=
  expR (gate_loss u eps1 r (count (predC isSome) t) (count isSome t) + (count isSome t)%:R * p) *
  numbered_gap_gate r p q' t.
Proof.
move=> r0 p0 mv; apply: gate_by_likelihood => _; rewrite !likelihood_numbered addrC expRD mulrACA.
have near_q h : `|q' h - q h| <= Delta%:Z by rewrite ler_norml; case: (moves_bound (mv h)) => -> ->.
apply: ler_pmul; first by apply: prodr_ge0 => y _; apply: number_ge0.
- exact: ge0_psum.
- by have := numbers_ratio (contexts [::] t) Delta_gt0 p0 near_q; rewrite contexts_answers.
rewrite -[in count (predC _) t](contexts_answers [::] t) -[in count isSome t](contexts_answers [::] t).
rewrite -negatives_gaps -positives_gaps /gate_loss /gate_noise; case: exponential.
- exact: exponential_gap_likelihood.
- exact: laplace_gap_likelihood.
Qed.

Theorem numbered_gap_is_private monotonic (eps2 eps3 : R) q q' :
  0 < eps2 -> 0 < eps3 -> (0 < c)%N -> neighbours monotonic Delta q q' ->
  let r := eps2 / (sides monotonic * c)%:R in let p := eps3 / c%:R in
  within (eps1 + eps2 + eps3) (numbered_gap_gate r p q) (numbered_gap_gate r p q').
Proof.
move=> eps2_gt0 eps3_gt0 c0 near_q r p.
have r0 : 0 < r by rewrite divr_gt0 // ltr0n muln_gt0 c0; case: (monotonic).
have p0 : 0 < p by rewrite divr_gt0 // ltr0n.
have [u mv s_u] := neighbours_move near_q; apply: gate_within => t le_c.
apply: le_trans (numbered_gap_transcript t r0 p0 mv) _; rewrite ler_wpmul2r // ler_expR.
have c_gt0 : 0 < c%:R :> R by rewrite ltr0n.
apply: ler_add; last by rewrite /p mulrCA ger_pmulr // ler_pdivr_mulr // mul1r ler_nat.
apply: (@le_trans _ _ (eps1 + (count isSome t)%:R * ((reach u)%:R * r))).
  rewrite /gate_loss; case: exponential.
    by apply: exponential_gap_loss_le; apply: ltW.
  by apply: laplace_gap_loss_le; apply: ltW.
rewrite ler_add2l s_u /r natrM invfM.
have s0 : (sides monotonic)%:R != 0 :> R by case: (monotonic); rewrite pnatr_eq0.
by rewrite (mulrCA _ eps2) mulVKf // mulrCA ger_pmulr // ler_pdivr_mulr // mul1r ler_nat.
Qed.

End Gate.
