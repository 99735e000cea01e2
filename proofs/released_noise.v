(** * The noisy answer is released: Alg. 3

    Roth's lecture notes of 2011 draw rho ~ Lap(Delta/eps1) once and nu ~ Lap(c Delta/eps2) for every
    question, eps1 = eps2 = eps/2, and where q + nu >= T + rho they release q + nu, the number that
    was compared. They stop after c numbers ([algorithm_3]; [None] is BELOW, [Some y] is the number y).

    The pair: m + 1 answers that are T, or all T + Delta. The transcript is BELOW^m and then the
    number T, which can only be where rho <= 0; there every answer is e^(eps/(2c)) times as likely on
    the first list, exactly:

        Pr[t | T^(m+1)] = e^((m+1) eps/(2c)) Pr[t | (T+Delta)^(m+1)] > 0.

    - [algorithm_3_loss_grows]: that equation.
    - [algorithm_3_is_not_private]: no eps' is enough, whatever the cutoff c; all answers move one
      way, so counts are no better.
    - [algorithm_3_sums_to_one]: it is a whole law. *)

From Sparsegate Require Import prelude privacy sums laplace gate laplace_gate standard_gate rows no_cutoff.
Local Open Scope ring_scope.

Section Algorithm3.
Context {R : realType}.
Variables (eps : R) (c Delta : nat) (T : int).
Hypotheses (eps0 : 0 < eps) (c0 : (0 < c)%N) (Delta0 : (0 < Delta)%N).
Implicit Types (rho q y : int) (u : seq int).

Definition query_rate : R := eps / 2 / (c * Delta)%:R.

Definition release q rho : {distr (option int) / R} :=
  \dlet_(nu <- laplace query_rate) dunit (if T + rho <= q + nu then Some (q + nu) else None).

Definition algorithm_3 u : {distr (seq (option int)) / R} :=
  gate (laplace (eps / 2 / Delta%:R)) (closed_after isSome c) (asked_row release u) (size u).

Let rate_gt0 : 0 < eps / 2 / Delta%:R.
Proof. by rewrite !divr_gt0 ?ltr0n. Qed.

Let query_rate_gt0 : 0 < query_rate.
Proof. by rewrite !divr_gt0 ?ltr0n ?muln_gt0 ?c0. Qed.

Theorem algorithm_3_sums_to_one u : psum (algorithm_3 u) = 1.
Proof.
apply: gate_sums_to_one => [|h rho]; first exact: laplace_sums_to_one.
apply: dlet_sums_to_one => [|nu]; [exact: laplace_sums_to_one | exact: dunit_sums_to_one].
Qed.

Lemma releases_none q rho : release q rho None = laplace_below query_rate (T + rho - q).
Proof.
rewrite /release dletE; apply: eq_psum => nu /=; rewrite dunit1E mulrC; congr (_%:R * _).
by rewrite ltr_subr_addl ltNge; case: ifP.
Qed.

Lemma releases_some q rho y :
  release q rho (Some y) = ((T + rho <= y)%R)%:R * laplace query_rate (y - q).
Proof.
rewrite /release dletE (psum_point (x := y - q)).
  rewrite addrCA subrr addr0 dunit1E mulrC ger0_norm ?mulr_ge0 ?ler0n //.
  by case: (T + rho <= y); rewrite ?eqxx.
move=> z neq; rewrite dunit1E; case: ifP => _; last by rewrite mulr0.
rewrite (_ : (_ == _) = false) ?mulr0 //; apply/negbTE.
by apply: contra neq => /eqP[<-]; rewrite addrAC subrr add0r.
Qed.

(** BELOW^m and then the number T; all answers are x. *)
Definition silence m : seq (option int) := block m 1 None (Some T).
Definition all_at m (x : int) := block m 1 x x.

Let row_product m x : algorithm_3 (all_at m x) (silence m) =
  psum (fun rho => laplace (eps / 2 / Delta%:R) rho *
    (laplace_below query_rate (T + rho - x) ^+ m *
     (((T + rho <= T)%R)%:R * laplace query_rate (T - x)))).
Proof.
rewrite /algorithm_3 gate_product size_block complete_block // mul1r; apply: eq_psum => rho.
by rewrite along_block releases_none releases_some expr1.
Qed.

Theorem algorithm_3_loss_grows m :
  0 < algorithm_3 (all_at m (T + Delta%:Z)) (silence m) /\
  algorithm_3 (all_at m T) (silence m) =
  expR (m.+1%:R * (eps / (2 * c%:R))) * algorithm_3 (all_at m (T + Delta%:Z)) (silence m).
Proof.
split.
  apply: (gate_gt0 (rho := 0)); rewrite ?size_block ?complete_block ?laplace_gt0 //.
  rewrite along_block releases_none releases_some addr0 lexx mul1r expr1.
  by rewrite mulr_gt0 ?laplace_gt0 // exprn_gt0 // laplace_below_gt0.
rewrite !row_product -psumZ ?(ltW (expR_gt0 _)) //; apply: eq_psum => rho.
rewrite /= [RHS]mulrCA; congr (_ * _).
have [le0|gt0] := leP (T + rho) T; last by rewrite !mul0r !mulr0.
have rho0 : rho <= 0 by rewrite -(ger_addl T).
have -> : T + rho - T = rho by rewrite addrAC subrr add0r.
have -> : T + rho - (T + Delta%:Z) = rho - Delta%:Z by rewrite opprD addrACA subrr add0r.
have D0 : 0 <= Delta%:Z by [].
rewrite (laplace_below_shift query_rate_gt0 _ D0); last exact: le_trans rho0 _.
have -> : laplace query_rate (T - T) =
    expR (query_rate * Delta%:Z%:~R) * laplace query_rate (T - (T + Delta%:Z)).
  rewrite subrr opprD addrA subrr sub0r laplaceN // !laplaceE // /laplace_mass mulrCA -expRD.
  by rewrite normr0 mulr0 oppr0 ger0_norm // subrr.
rewrite !mul1r exprMn mulrACA -exprSr -expRMm; congr (expR (_ * _) * _).
rewrite /query_rate natrM [(c%:R * _)^-1]invfM mulrA -pmulrn divfK ?gt_eqF ?ltr0n //.
by rewrite invfM mulrA.
Qed.

Theorem algorithm_3_is_not_private eps' : refutable Delta eps' algorithm_3.
Proof.
have step_gt0 : 0 < eps / (2 * c%:R) by rewrite divr_gt0 // mulr_gt0 // ltr0n.
have [m lt] := grows_past eps' step_gt0; have [pos eq] := algorithm_3_loss_grows m.
have near : neighbouring Delta (all_at m T) (all_at m (T + Delta%:Z)).
  by apply: block_neighbouring; rewrite addrAC subrr add0r.
apply: (refuted near _ pos); last by rewrite eq.
by apply: lt_trans lt _; rewrite ltr_pmul2r // ltr_nat.
Qed.

End Algorithm3.
