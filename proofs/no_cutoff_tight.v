(** * No cutoff: exactly n eps2

    The pair of [no_cutoff.v] shows a loss of n eps2/2 after n = 2t questions. Far from the threshold it
    is twice that, and no more can be:

    - [gptt_upper_bound]: GPTT with n questions is n eps2-DP, whatever its threshold noise is;
    - [gptt_loss_is_tight]: for n = 2t and every eps < n eps2 there are neighbouring lists of n answers and
      a transcript that is more than e^eps times as likely on the one as on the other;
    - [algorithm_6_upper_bound], [algorithm_6_loss_is_tight]: the same for Alg. 6: n eps/2.

    The pair: (T+M)^t (T-M)^t against (T+M+Delta)^t (T-M-Delta)^t, transcript BELOW^t ABOVE^t. Where
    -M <= rho <= M all 2t answers are unlikely ones and pay in full; that rho is farther out has a
    probability of about e^(-eps1 M/Delta), and no transcript is much likelier there:

        Pr[t | D'] <= e^(-n eps2) Pr[t | D] + 2 e^(-eps1 M/Delta) e^(-n eps2 M/Delta),
        Pr[t | D] >= const e^(-n eps2 M/Delta). *)

From Sparsegate Require Import prelude privacy sums laplace gate laplace_gate standard_gate rows no_cutoff tight_loss.
Local Open Scope ring_scope.

Section Wide.
Context {R : realType}.
Variables (Delta t : nat) (eps1 r : R) (T : int).
Hypotheses (Delta0 : (0 < Delta)%N) (eps10 : 0 < eps1) (r0 : 0 < r).

Local Notation a := (eps1 / Delta%:R).
Local Notation b := (r / Delta%:R).
Local Notation row := (gptt eps1 r Delta T).
Local Notation outcome := (block t t false true).

Definition wide M := block t t (T + M%:Z) (T - M%:Z).
Definition wide' M := block t t (T + M%:Z + Delta%:Z) (T - M%:Z - Delta%:Z).

Let D0 : 0 < Delta%:R :> R. Proof. by rewrite ltr0n. Qed.
Let a0 : 0 < a. Proof. exact: divr_gt0. Qed.
Let b0 : 0 < b. Proof. exact: divr_gt0. Qed.

Definition both x y : R := laplace_below b x ^+ t * laplace_tail b y ^+ t.

Lemma both_ge0 x y : 0 <= both x y.
Proof. by rewrite mulr_ge0 ?exprn_ge0 ?ge0_pr. Qed.

Lemma wide_product M :
  row (wide M) outcome = psum (fun rho => laplace a rho * both (rho - M%:Z) (rho + M%:Z)).
Proof.
rewrite /gptt laplace_row_product; [|by rewrite complete_never size_block]; apply: eq_psum => rho.
have -> : T + rho - (T + M%:Z) = rho - M%:Z by rewrite opprD addrACA subrr add0r.
by have -> : T + rho - (T - M%:Z) = rho + M%:Z by rewrite opprB addrC subrKA addrC.
Qed.

Lemma wide'_product M : row (wide' M) outcome =
  psum (fun rho => laplace a rho * both (rho - M%:Z - Delta%:Z) (rho + M%:Z + Delta%:Z)).
Proof.
rewrite /gptt laplace_row_product; [|by rewrite complete_never size_block]; apply: eq_psum => rho.
have -> : T + rho - (T + M%:Z + Delta%:Z) = rho - M%:Z - Delta%:Z.
  by rewrite -(addrA T M%:Z) opprD addrACA subrr add0r opprD addrA.
have -> // : T + rho - (T - M%:Z - Delta%:Z) = rho + M%:Z + Delta%:Z.
by rewrite -(addrA T (- M%:Z)) -opprD opprB addrC subrKA addrC addrA.
Qed.

(** Between -M and M every answer pays. *)
Lemma both_inside (M rho : int) : - M <= rho -> rho <= M ->
  both (rho - M - Delta%:Z) (rho + M + Delta%:Z) = expR (- ((t + t)%:R * r)) * both (rho - M) (rho + M).
Proof.
move=> lo hi; have Dge0 : 0 <= Delta%:Z by [].
have rE : r = b * Delta%:Z%:~R by rewrite -pmulrn divfK ?gt_eqF.
have le1 : rho - M <= 1 by rewrite ler_subl_addr (le_trans hi) // ler_addr.
have ge0 : 0 <= rho + M by rewrite -ler_subl_addr sub0r.
rewrite [in RHS]/both (laplace_below_shift b0 le1 Dge0) (laplace_tail_shift b0 ge0 Dge0) -rE.
by rewrite !exprMn -!expRMm mulrACA [RHS]mulrA -!expRD -[t%:R * r + _]mulrDl -natrD addNr expR0 mul1r.
Qed.

(** Farther out, rho pays, and the answers of one kind are as unlikely as all were at rho = 0. *)
Lemma tail_le (x y : int) : 0 <= x -> x <= y -> laplace_tail b y <= expR (- (b * x%:~R)).
Proof.
move=> x0 xy; apply: le_trans (laplace_tail_decreases b xy) _.
have -> : laplace_tail b x = expR (- (b * x%:~R)) * laplace_tail b 0.
  by rewrite (laplace_tail_shift b0 (lexx 0) x0) add0r mulrA -expRD addNr expR0 mul1r.
by rewrite ler_pimulr ?(ltW (expR_gt0 _)) ?le1_pr.
Qed.

Let doubled (M : int) : expR (- ((t + t)%:R * (b * M%:~R))) = expR (- (b * (M + M)%:~R)) ^+ t.
Proof. by rewrite -expRMm mulrN natrD mulrDl -!mulrDr -rmorphD. Qed.

Lemma both_right (M rho : int) : 0 <= M -> M <= rho ->
  both (rho - M - Delta%:Z) (rho + M + Delta%:Z) <= expR (- ((t + t)%:R * (b * M%:~R))).
Proof.
move=> M0 Mrho; rewrite doubled -[leRHS]mul1r.
apply: ler_pmul; rewrite ?exprn_ile1 ?exprn_ge0 ?ge0_pr ?le1_pr //.
apply: ler_expn2r; rewrite ?nnegrE ?ge0_pr ?(ltW (expR_gt0 _)) //.
apply: tail_le; first exact: addr_ge0.
by rewrite -addrA ler_add // ler_addl.
Qed.

Lemma both_left (M rho : int) : 0 <= M -> rho <= - M ->
  both (rho - M - Delta%:Z) (rho + M + Delta%:Z) <= expR (- ((t + t)%:R * (b * M%:~R))).
Proof.
move=> M0 rhoM; rewrite doubled -[leRHS]mulr1.
apply: ler_pmul; rewrite ?exprn_ile1 ?exprn_ge0 ?ge0_pr ?le1_pr //.
apply: ler_expn2r; rewrite ?nnegrE ?ge0_pr ?(ltW (expR_gt0 _)) //.
rewrite laplace_below_mirror //; apply: tail_le; first exact: addr_ge0.
rewrite ler_subr_addr addrA (addrACA M M) subrr addr0 ler_subl_addr.
by apply: le_trans (_ : 0 <= _); rewrite // -ler_subr_addl sub0r.
Qed.

Lemma laplace_right (M rho : int) : 0 <= M -> M <= rho ->
  laplace a rho = expR (- (a * M%:~R)) * laplace a (rho - M).
Proof.
move=> M0 Mrho; rewrite !laplaceE // /laplace_mass mulrCA -expRD; congr (_ * expR _).
by rewrite !ger0_norm ?subr_ge0 ?(le_trans M0) // rmorphB /= mulrBr opprB addrA addNr add0r.
Qed.

Lemma laplace_left (M rho : int) : 0 <= M -> rho <= - M ->
  laplace a rho = expR (- (a * M%:~R)) * laplace a (rho + M).
Proof.
move=> M0 rhoM; rewrite -laplaceN // -[laplace a (rho + M)]laplaceN // opprD.
by apply: laplace_right => //; rewrite ler_oppr.
Qed.

Definition rest_bound (M : int) : R := expR (- (a * M%:~R)) * expR (- ((t + t)%:R * (b * M%:~R))).

Lemma wide'_le_term (M rho : int) : 0 <= M ->
  laplace a rho * both (rho - M - Delta%:Z) (rho + M + Delta%:Z) <=
  expR (- ((t + t)%:R * r)) * (laplace a rho * both (rho - M) (rho + M)) +
  (rest_bound M * laplace a (rho - M) + rest_bound M * laplace a (rho + M)).
Proof.
move=> M0; have E0 x : 0 <= expR x :> R by rewrite ltW ?expR_gt0.
have rest0 z : 0 <= rest_bound M * laplace a z by apply: mulr_ge0; rewrite // mulr_ge0.
have all0 : 0 <= expR (- ((t + t)%:R * r)) * (laplace a rho * both (rho - M) (rho + M)).
  by apply: mulr_ge0; rewrite // mulr_ge0 // both_ge0.
have [lo|lo] := leP rho (- M).
  apply: ler_paddl => //; apply: ler_paddl => //.
  rewrite (laplace_left M0 lo) /rest_bound -[leLHS]mulrA -[leRHS]mulrA ler_wpmul2l // [leLHS]mulrC.
  by rewrite ler_wpmul2r // both_left.
have [hi|hi] := leP M rho.
  apply: ler_paddl => //; apply: ler_paddr => //.
  rewrite (laplace_right M0 hi) /rest_bound -[leLHS]mulrA -[leRHS]mulrA ler_wpmul2l // [leLHS]mulrC.
  by rewrite ler_wpmul2r // both_right.
apply: ler_paddr; first exact: addr_ge0.
by rewrite both_inside ?(ltW lo) ?(ltW hi) // mulrCA.
Qed.

Lemma wide'_le M : row (wide' M) outcome <=
  expR (- ((t + t)%:R * r)) * row (wide M) outcome + 2 * rest_bound M%:Z.
Proof.
rewrite wide_product wide'_product.
set f := fun rho => laplace a rho * both (rho - M%:Z) (rho + M%:Z).
have E0 x : 0 <= expR x :> R by rewrite ltW ?expR_gt0.
have rest0 : 0 <= rest_bound M%:Z by rewrite mulr_ge0.
have f0 rho : 0 <= f rho by rewrite mulr_ge0 ?both_ge0.
have sf : summable f by apply: summable_product.
pose g rho := expR (- ((t + t)%:R * r)) * f rho.
pose right rho := rest_bound M%:Z * laplace a (rho - M%:Z).
pose left rho := rest_bound M%:Z * laplace a (rho + M%:Z).
have sg : summable g by apply: summableZ.
have sl : summable left by apply: summableZ; apply: summable_shift (summable_mu _).
have sr : summable right by apply: summableZ; apply: (summable_shift _ (summable_mu _)).
have g0 rho : 0 <= g rho by apply: mulr_ge0.
have l0 rho : 0 <= left rho by apply: mulr_ge0.
have ri0 rho : 0 <= right rho by apply: mulr_ge0.
have -> : expR (- ((t + t)%:R * r)) * psum f + 2 * rest_bound M%:Z = psum (g \+ (right \+ left)).
  rewrite psumD //; last 2 first.
  - by move=> rho; apply: addr_ge0.
  - exact: summableD.
  rewrite psumD // !psumZ // !psum_shift laplace_sums_to_one // mulr1.
  by rewrite (mulr_natl _ 2) mulr2n.
apply: le_psum; last by apply: summableD => //; apply: summableD.
move=> rho; rewrite mulr_ge0 ?both_ge0 //=; exact: wide'_le_term.
Qed.

Definition centre_mass : R := laplace a 0 * both 0 0.

Lemma wide_ge M : centre_mass * expR (- ((t + t)%:R * (b * M%:R))) <= row (wide M) outcome.
Proof.
rewrite wide_product.
set f := fun rho => laplace a rho * both (rho - M%:Z) (rho + M%:Z).
have sf : summable f by apply: summable_product.
have f0 : 0 <= f 0 by rewrite mulr_ge0 ?both_ge0.
apply: le_trans (ger1_psum 0 sf); rewrite (ger0_norm f0) /f /centre_mass -mulrA.
rewrite ler_wpmul2l // /both (@laplace_below_shift _ _ b0 0 M%:Z) // (@laplace_tail_shift _ _ b0 0 M%:Z) //.
rewrite !exprMn -!expRMm mulrACA [leLHS]mulrAC -!expRD -pmulrn.
by rewrite -[t%:R * _ + _]mulrDl -natrD subrr expR0 mul1r.
Qed.

Lemma wide_refutes eps : eps < (t + t)%:R * r ->
  exists M, expR eps * row (wide' M) outcome < row (wide M) outcome.
Proof.
move=> lt; have centre0 : 0 < centre_mass.
  apply: mulr_gt0; first exact: laplace_gt0.
  apply: mulr_gt0; apply: exprn_gt0; [exact: laplace_below_gt0 | exact: laplace_tail_gt0].
have gap : 0 < expR (- eps) - expR (- ((t + t)%:R * r)) by rewrite subr_gt0 ltr_expR ltr_opp2.
have eta0 := divr_gt0 (mulr_gt0 gap centre0) (ltr0Sn R 1).
have [M M_lt] := falls_below a0 eta0; exists M.
rewrite -ltr_pdivl_mull ?expR_gt0 // -expRN.
apply: le_lt_trans (wide'_le M) _; rewrite -ltr_subr_addl -mulrBl.
apply: lt_le_trans (ler_wpmul2l (ltW gap) (wide_ge M)).
rewrite /rest_bound -!pmulrn mulrA [ltRHS]mulrA ltr_pmul2r ?expR_gt0 // mulrC -ltr_pdivl_mulr ?ltr0n //.
Qed.

End Wide.

Section Exactly.
Context {R : realType}.
Variables (eps1 eps2 : R) (Delta : nat) (T : int).
Hypotheses (eps10 : 0 < eps1) (eps20 : 0 < eps2) (Delta0 : (0 < Delta)%N).

Theorem gptt_upper_bound u v : neighbouring Delta u v ->
  within ((size u)%:R * eps2) (gptt eps1 eps2 Delta T u) (gptt eps1 eps2 Delta T v).
Proof.
move=> uv t; have [size_uv _] := uv.
have [cmpl|/negbTE other] := boolP (complete never (size u) [::] t); last first.
  by rewrite [leLHS]gate_product other mul0r mulr_ge0 // ltW // expR_gt0.
have near_uv := neighbouring_near (A := bool_eqType) uv.
rewrite /gptt /laplace_row -size_uv.
apply: le_trans (general_transcript never (fun=> T) (size u) Delta0 eps10 eps20 t near_uv) _.
rewrite ler_wpmul2r // ler_expR /general_loss le_minl; apply/orP; left.
move: cmpl; rewrite complete_never => /eqP <-; rewrite ler_pmul2r // ler_nat.
by rewrite addnC -[count negb t]/(count (predC id) t) count_predC.
Qed.

Theorem gptt_loss_is_tight t eps : eps < (t + t)%:R * eps2 ->
  exists u v x, [/\ neighbouring Delta u v, size u = (t + t)%N &
    expR eps * gptt eps1 eps2 Delta T v x < gptt eps1 eps2 Delta T u x].
Proof.
move=> lt; have [M gt] := wide_refutes T Delta0 eps10 eps20 lt.
exists (wide t T M), (wide' Delta t T M), (block t t false true); split=> //; last exact: size_block.
apply: block_neighbouring; first by rewrite addrAC subrr add0r.
by rewrite addrAC subrr add0r normrN.
Qed.

End Exactly.

Section Algorithm6.
Context {R : realType}.
Variables (eps : R) (Delta : nat) (T : int).
Hypotheses (eps0 : 0 < eps) (Delta0 : (0 < Delta)%N).

Let half_gt0 : 0 < eps / 2.
Proof. by rewrite divr_gt0 ?ltr0n. Qed.

Theorem algorithm_6_upper_bound u v : neighbouring Delta u v ->
  within ((size u)%:R * (eps / 2)) (algorithm_6 eps Delta T u) (algorithm_6 eps Delta T v).
Proof. exact: gptt_upper_bound. Qed.

Theorem algorithm_6_loss_is_tight t eps' : eps' < (t + t)%:R * (eps / 2) ->
  exists u v x, [/\ neighbouring Delta u v, size u = (t + t)%N &
    expR eps' * algorithm_6 eps Delta T v x < algorithm_6 eps Delta T u x].
Proof. exact: gptt_loss_is_tight. Qed.

End Algorithm6.
