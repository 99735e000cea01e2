(** * The loss of the gate is attained

    [laplace_gate.v] says that a gate with rho ~ Lap(Delta/eps1) and nu ~ Lap(Delta/r), closed after c
    ABOVE, loses at most eps1 + 2 c r, and eps1 + c r where all answers move one way. No less is enough:

    - [general_loss_is_tight]: for every eps < eps1 + 2 c r there are neighbouring lists of answers and
      a transcript that is more than e^eps times as likely on the one as on the other;
    - [monotonic_loss_is_tight]: for every eps < eps1 + c r, and no answer of the second list is smaller;
    - [standard_loss_is_tight]: so eps1 + eps2 is the whole price of Alg. 7, and eps that of Alg. 1.

    The pair: m answers far above T, then c at T ([far]: (T+M)^m T^c); on the neighbour m answers that
    are Delta higher and c that are s lower ([far']), s = Delta, or 0 if they may only rise. The
    transcript is BELOW^m ABOVE^c, so rho is about M, and there both tails are geometric: rho on D' is
    matched with rho - Delta on D, each pays in full, and ([far'_le], with L = eps1 + c r (Delta + s)/Delta)

        Pr[t | D'] <= e^(-L) Pr[t | D] + e^(-m r M/Delta),

    while Pr[t | D] falls with M only as e^(-(eps1 + c r) M/Delta) ([far_ge]). So where m r > eps1 + c r,
    the loss goes to L as M grows. *)

From Sparsegate Require Import prelude privacy sums laplace gate laplace_gate standard_gate rows no_cutoff.
Local Open Scope ring_scope.

(** What falls geometrically gets below every bound. *)
Lemma falls_below {R : realType} (d eta : R) : 0 < d -> 0 < eta -> exists M : nat, expR (- (d * M%:R)) < eta.
Proof.
move=> d0 eta0; have [M lt] := grows_past (eta^-1) d0; exists M.
rewrite expRN -[eta]invrK ltf_pinv ?posrE ?invr_gt0 ?expR_gt0 //.
have dM0 : 0 <= d * M%:R by rewrite mulr_ge0 ?ler0n ?(ltW d0).
apply: lt_le_trans lt (le_trans _ (expR_ge1Dx dM0)).
by rewrite mulrC ler_addr ler01.
Qed.

Section Far.
Context {R : realType}.
Variables (c Delta s : nat) (eps1 r : R) (T : int).
Hypotheses (c0 : (0 < c)%N) (Delta0 : (0 < Delta)%N) (s_le : (s <= Delta)%N).
Hypotheses (eps10 : 0 < eps1) (r0 : 0 < r).

Local Notation a := (eps1 / Delta%:R).
Local Notation b := (r / Delta%:R).
Local Notation row := (laplace_row (closed_after id c) Delta eps1 r T).
Local Notation outcome m := (block m c false true).

Definition far m M := block m c (T + M%:Z) T.
Definition far' m M := block m c (T + M%:Z + Delta%:Z) (T - s%:Z).

Let D0 : 0 < Delta%:R :> R. Proof. by rewrite ltr0n. Qed.
Let a0 : 0 < a. Proof. exact: divr_gt0. Qed.
Let b0 : 0 < b. Proof. exact: divr_gt0. Qed.

Definition far_loss : R := eps1 + c%:R * (b * (Delta + s)%:R).

Definition term (m M : nat) (rho : int) : R :=
  laplace a rho * (laplace_below b (rho - M%:Z) ^+ m * laplace_tail b rho ^+ c).

Definition term' (m M : nat) (rho : int) : R :=
  laplace a rho * (laplace_below b (rho - M%:Z - Delta%:Z) ^+ m * laplace_tail b (rho + s%:Z) ^+ c).

Lemma far_product m M : row (far m M) (outcome m) = psum (term m M).
Proof.
rewrite laplace_row_product; [|by rewrite complete_block]; apply: eq_psum => rho.
by rewrite /term opprD addrACA subrr add0r [T + rho - T]addrAC subrr add0r.
Qed.

Lemma far'_product m M : row (far' m M) (outcome m) = psum (term' m M).
Proof.
rewrite laplace_row_product; [|by rewrite complete_block]; apply: eq_psum => rho.
have -> : T + rho - (T + M%:Z + Delta%:Z) = rho - M%:Z - Delta%:Z.
  by rewrite -(addrA T M%:Z) opprD addrACA subrr add0r opprD addrA.
by have -> : T + rho - (T - s%:Z) = rho + s%:Z by rewrite opprB addrC subrKA addrC.
Qed.

Lemma term_ge0 m M rho : 0 <= term m M rho.
Proof. by rewrite !mulr_ge0 ?exprn_ge0 ?ge0_pr. Qed.

Lemma term'_ge0 m M rho : 0 <= term' m M rho.
Proof. by rewrite !mulr_ge0 ?exprn_ge0 ?ge0_pr. Qed.

(** rho >= Delta on D' is matched with rho - Delta on D. The rest is small. *)
Lemma term'_le m M rho :
  term' m M rho <= expR (- far_loss) * term m M (rho - Delta%:Z) +
    expR (- (m%:R * b * M%:R)) * laplace a rho.
Proof.
have [Drho|rhoD] := leP Delta%:Z rho.
  apply: ler_paddr; first by rewrite mulr_ge0 ?(ltW (expR_gt0 _)).
  rewrite le_eqVlt; apply/orP; left; apply/eqP; rewrite /term' /term [rho - Delta%:Z - _]addrAC.
  have -> : laplace a (rho - Delta%:Z) = expR eps1 * laplace a rho.
    rewrite !laplaceE // /laplace_mass mulrCA -expRD; congr (_ * expR _).
    rewrite !ger0_norm ?subr_ge0 ?(le_trans _ Drho) // rmorphB /= mulrBr opprB -pmulrn.
    by rewrite divfK ?gt_eqF.
  have -> : laplace_tail b (rho - Delta%:Z) =
      expR (b * (Delta + s)%:R) * laplace_tail b (rho + s%:Z).
    rewrite (@laplace_tail_shift _ _ b0 _ (Delta + s)%N%:Z) ?subr_ge0 //.
    by rewrite PoszD addrA subrK -PoszD -pmulrn.
  rewrite exprMn -expRMm (mulrCA (laplace_below _ _ ^+ m)) mulrACA [RHS]mulrA -!expRD.
  by rewrite /far_loss addNr expR0 mul1r.
apply: ler_paddl; first by rewrite mulr_ge0 ?(ltW (expR_gt0 _)) ?term_ge0.
rewrite /term' mulrC; apply: ler_wpmul2r => //.
rewrite -[leRHS]mulr1; apply: ler_pmul; rewrite ?exprn_ge0 ?exprn_ile1 ?ge0_pr ?le1_pr //.
rewrite -mulrA -mulrN expRMm; apply: ler_expn2r; rewrite ?nnegrE ?ge0_pr ?(ltW (expR_gt0 _)) //.
apply: le_trans (laplace_below_increases b (_ : _ <= 0 - M%:Z)) _.
  by rewrite addrAC ler_add2r subr_le0 ltW.
have -> : laplace_below b (0 - M%:Z) = expR (- (b * M%:R)) * laplace_below b 0.
  by rewrite (@laplace_below_shift _ _ b0 0 M%:Z) // mulrA -expRD -pmulrn addNr expR0 mul1r.
by rewrite ler_pimulr ?(ltW (expR_gt0 _)) ?le1_pr.
Qed.

Lemma far'_le m M :
  psum (term' m M) <= expR (- far_loss) * psum (term m M) + expR (- (m%:R * b * M%:R)).
Proof.
have sumt : summable (term m M) by apply: summable_product.
have sums : summable (fun rho => term m M (rho - Delta%:Z)) by apply: summable_shift.
pose f rho := expR (- far_loss) * term m M (rho - Delta%:Z).
pose g rho := expR (- (m%:R * b * M%:R)) * laplace a rho.
have f_ge0 rho : 0 <= f rho by rewrite mulr_ge0 ?(ltW (expR_gt0 _)) ?term_ge0.
have g_ge0 rho : 0 <= g rho by rewrite mulr_ge0 ?(ltW (expR_gt0 _)).
have sf : summable f by apply: summableZ.
have sg : summable g by apply: summableZ; apply: summable_mu.
have -> : expR (- far_loss) * psum (term m M) + expR (- (m%:R * b * M%:R)) = psum (f \+ g).
  rewrite psumD // !psumZ ?(ltW (expR_gt0 _)) // psum_shift.
  by rewrite laplace_sums_to_one // mulr1.
apply: le_psum; last exact: summableD.
by move=> rho; rewrite term'_ge0 term'_le.
Qed.

Definition least m : R := laplace a 0 * (laplace_below b 0 ^+ m * laplace_tail b 0 ^+ c).

Lemma far_ge m M : least m * expR (- ((a + c%:R * b) * M%:R)) <= psum (term m M).
Proof.
have sumt : summable (term m M) by apply: summable_product.
apply: le_trans (ger1_psum M%:Z sumt); rewrite ger0_norm ?term_ge0 //.
rewrite /term subrr /least (@laplace_tail_shift _ _ b0 0 M%:Z) // add0r exprMn -expRMm -pmulrn.
have -> : laplace a 0 = expR (a * M%:R) * laplace a M%:Z.
  rewrite !laplaceE // /laplace_mass mulrCA -expRD; congr (_ * expR _).
  by rewrite normr0 mulr0 ger0_norm // -pmulrn subrr oppr0.
rewrite (mulrCA (laplace_below _ _ ^+ m)) mulrACA [leLHS]mulrAC -!expRD.
by rewrite mulrDl -(mulrA c%:R) subrr expR0 mul1r.
Qed.

Lemma far_refutes eps : eps < far_loss ->
  exists m M, expR eps * row (far' m M) (outcome m) < row (far m M) (outcome m).
Proof.
move=> lt; have [m m_gt] := grows_past (a + c%:R * b) b0; exists m.
pose d := m%:R * b - (a + c%:R * b).
have d0 : 0 < d by rewrite subr_gt0.
have least_gt0 : 0 < least m.
  apply: mulr_gt0; first exact: laplace_gt0.
  apply: mulr_gt0; apply: exprn_gt0; [exact: laplace_below_gt0 | exact: laplace_tail_gt0].
have gap : 0 < expR (- eps) - expR (- far_loss) by rewrite subr_gt0 ltr_expR ltr_opp2.
have [M M_lt] := falls_below d0 (mulr_gt0 gap least_gt0); exists M.
rewrite far_product far'_product -ltr_pdivl_mull ?expR_gt0 // -expRN.
apply: le_lt_trans (far'_le m M) _.
rewrite -ltr_subr_addl -mulrBl.
apply: lt_le_trans (ler_wpmul2l (ltW gap) (far_ge m M)).
have -> : m%:R * b * M%:R = d * M%:R + (a + c%:R * b) * M%:R by rewrite -mulrDl subrK.
by rewrite opprD expRD [ltRHS]mulrA ltr_pmul2r ?expR_gt0.
Qed.
End Far.

Section Tight.
Context {R : realType}.
Variables (c Delta : nat) (eps1 r : R) (T : int).
Hypotheses (c0 : (0 < c)%N) (Delta0 : (0 < Delta)%N) (eps10 : 0 < eps1) (r0 : 0 < r).

Local Notation row := (laplace_row (closed_after id c) Delta eps1 r T).

Lemma far_neighbouring s m M : (s <= Delta)%N -> neighbouring Delta (far c T m M) (far' c Delta s T m M).
Proof.
move=> s_le; apply: block_neighbouring; first by rewrite addrAC subrr add0r.
by rewrite addrAC subrr add0r normrN.
Qed.

Theorem general_loss_is_tight eps : eps < eps1 + 2 * c%:R * r -> refutable Delta eps row.
Proof.
move=> lt; have [|m [M gt]] := @far_refutes _ c Delta Delta eps1 r T c0 Delta0 eps10 r0 eps.
  rewrite /far_loss natrD mulrDr divfK ?gt_eqF ?ltr0n // mulrDr.
  by move: lt; rewrite -mulrA (mulr_natl (c%:R * r) 2) mulr2n.
exists (far c T m M), (far' c Delta Delta T m M), (block m c false true); split=> //.
exact: far_neighbouring.
Qed.

(** Counts: the BELOWs rise and the ABOVEs stay. *)
Theorem monotonic_loss_is_tight eps : eps < eps1 + c%:R * r ->
  exists u v t, [/\ neighbouring Delta u v, forall i, nth 0 u i <= nth 0 v i &
    expR eps * row v t < row u t].
Proof.
move=> lt; have [|m [M gt]] := @far_refutes _ c Delta 0 eps1 r T c0 Delta0 eps10 r0 eps.
  by rewrite /far_loss addn0 divfK ?gt_eqF ?ltr0n.
exists (far c T m M), (far' c Delta 0 T m M), (block m c false true); split=> //.
  exact: far_neighbouring.
move=> i; rewrite !nth_cat !size_nseq; case: ifP => lt_im; rewrite !nth_nseq ?lt_im ?subr0 //.
by rewrite ler_addl.
Qed.

End Tight.

Section Standard.
Context {R : realType}.
Variables (c Delta : nat) (eps1 eps2 : R) (T : int).
Hypotheses (c0 : (0 < c)%N) (Delta0 : (0 < Delta)%N) (eps10 : 0 < eps1) (eps20 : 0 < eps2).

Theorem standard_loss_is_tight eps : eps < eps1 + eps2 ->
  refutable Delta eps (fun u => standard_gate c Delta eps1 eps2 (fun=> T) (size u) 2 (listed u)).
Proof.
move=> lt; apply: general_loss_is_tight => //; first by rewrite divr_gt0 // ltr0n muln_gt0 c0.
by rewrite natrM mulrC divfK // gt_eqF // -natrM ltr0n muln_gt0 c0.
Qed.

End Standard.
