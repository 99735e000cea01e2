(** * No cutoff: Alg. 6 and GPTT

    Chen, Xiao, Zhang, Xu 2015 (Alg. 6) and generalised private threshold testing (GPTT) add noise to
    every answer, but go on for ever after any number of ABOVE:

        rho ~ Lap(Delta/eps1) once,  nu ~ Lap(Delta/eps2) afresh,  ABOVE iff q + nu >= T + rho.

    Alg. 6 is GPTT at eps1 = eps2 = eps/2 ([algorithm_6]).

    The pair: [crossed] asks t questions with the answer T and then t with T + Delta; on the
    neighbour [crossed'] it is the other way round. The transcript is BELOW^t ABOVE^t. Whatever rho
    is, a BELOW and an ABOVE together are e^eps2 times as likely on the first ([crossing]; the
    paper's kappa(z) >= e^eps2), so with n = 2t questions

        Pr[t | crossed] >= e^(t eps2) Pr[t | crossed'] > 0.

    - [gptt_loss_grows], [algorithm_6_loss_grows]: that bound; for Alg. 6 it is the paper's n eps/4.
    - [gptt_is_not_private], [algorithm_6_is_not_private]: no eps' is enough.
    - [gptt_sums_to_one], [algorithm_6_sums_to_one]: they are whole laws. *)

From Sparsegate Require Import prelude privacy sums laplace gate laplace_gate standard_gate rows.
Local Open Scope ring_scope.

Section Crossing.
Context {R : realType}.
Variables (b : R) (Delta : int).
Hypotheses (b_gt0 : 0 < b) (Delta_ge0 : 0 <= Delta).

(** Where z >= Delta the tail is geometric; where z <= 1 its mirror image is; between them (Delta is
    more than one step) both sides of the comparison are at their middles, or better. *)
Lemma crossing z :
  expR (b * Delta%:~R) * (laplace_below b (z - Delta) * laplace_tail b z) <=
  laplace_below b z * laplace_tail b (z - Delta).
Proof.
have [Dz|zD] := leP Delta z.
  rewrite mulrCA -{2}(subrK Delta z) -laplace_tail_shift ?subr_ge0 //.
  by rewrite ler_wpmul2r ?ge0_pr // laplace_below_increases // ler_subl_addr ler_addl.
have [z1|z1] := leP z 1.
  rewrite mulrA -laplace_below_shift //.
  by rewrite ler_wpmul2l ?ge0_pr // laplace_tail_decreases // ler_subl_addr ler_addl.
have e1 : laplace_below b 1 <= laplace_below b z by rewrite laplace_below_increases // ltW.
have e2 : laplace_tail b 0 <= laplace_tail b (z - Delta) by rewrite laplace_tail_decreases // subr_le0 ltW.
apply: le_trans (ler_pmul _ _ e1 e2); rewrite ?ge0_pr //.
have d0 : 0 <= z - 1 by rewrite subr_ge0 ltW.
rewrite (laplace_below_shift b_gt0 (lexx 1) Delta_ge0) -mulrA ler_wpmul2l ?(ltW (expR_gt0 _)) //.
rewrite (@laplace_below_shift _ _ b_gt0 (z - Delta) (z - 1)) //; last by rewrite ler_subl_addr (le_trans (ltW zD)) // ler_addr.
have -> : z - Delta - (z - 1) = 1 - Delta by rewrite opprB addrC subrKA.
rewrite mulrAC mulrC ler_wpmul2l ?ge0_pr //.
rewrite (@laplace_tail_shift _ _ b_gt0 0 (z - 1)) // add0r ler_wpmul2l ?(ltW (expR_gt0 _)) //.
by rewrite laplace_tail_decreases // ler_subl_addr ler_addl.
Qed.
End Crossing.

(** t questions at the threshold and t a step above it; on the neighbour the other way round. *)
Definition crossed (Delta : nat) (T : int) t := block t t T (T + Delta%:Z).
Definition crossed' (Delta : nat) (T : int) t := block t t (T + Delta%:Z) T.

Section Crossed.
Context {R : realType}.
Variables (closed : seq bool -> bool) (Delta : nat) (eps1 r : R) (T : int).
Hypotheses (Delta0 : (0 < Delta)%N) (eps10 : 0 < eps1) (r0 : 0 < r).

Lemma crossed_neighbouring t : neighbouring Delta (crossed Delta T t) (crossed' Delta T t).
Proof.
apply: block_neighbouring; first by rewrite addrAC subrr add0r.
by rewrite opprD addrA subrr sub0r normrN.
Qed.

Lemma crossed_loss t (row := laplace_row closed Delta eps1 r T) :
  complete closed (t + t) [::] (block t t false true) ->
  0 < row (crossed' Delta T t) (block t t false true) /\
  expR (t%:R * r) * row (crossed' Delta T t) (block t t false true) <=
  row (crossed Delta T t) (block t t false true).
Proof.
move=> cmpl; split; first by apply: laplace_row_gt0; rewrite ?size_block.
rewrite /row !laplace_row_product // -psumZ ?(ltW (expR_gt0 _)) //.
have D0 : 0 < Delta%:R :> R by rewrite ltr0n.
have b0 : 0 < r / Delta%:R by rewrite divr_gt0.
have rE : r = r / Delta%:R * Delta%:Z%:~R by rewrite -pmulrn divfK ?gt_eqF.
apply: le_psum => [rho|]; last exact: summable_product.
apply/andP; split.
  apply: mulr_ge0 (ltW (expR_gt0 _)) (mulr_ge0 _ _) => //.
  by apply: mulr_ge0; apply: exprn_ge0; apply: ge0_pr.
rewrite /= mulrCA; apply: ler_wpmul2l => //.
rewrite expRMm -!exprMn; apply: ler_expn2r;
  rewrite ?nnegrE; do ?[exact: ge0_pr | exact: ltW (expR_gt0 _) | apply: mulr_ge0].
have -> : T + rho - T = rho by rewrite addrAC subrr add0r.
have -> : T + rho - (T + Delta%:Z) = rho - Delta%:Z by rewrite opprD addrACA subrr add0r.
by rewrite {1}rE; apply: crossing.
Qed.

End Crossed.

(** What grows by a fixed amount with every question passes every bound. *)
Lemma grows_past {R : realType} (eps d : R) : 0 < d -> exists t : nat, eps < t%:R * d.
Proof.
move=> d0; exists (Num.bound `|eps / d|); rewrite -ltr_pdivr_mulr //.
exact: le_lt_trans (ler_norm _) (archi_boundP (normr_ge0 _)).
Qed.

Section Gptt.
Context {R : realType}.
Variables (eps1 eps2 : R) (Delta : nat) (T : int).
Hypotheses (eps10 : 0 < eps1) (eps20 : 0 < eps2) (Delta0 : (0 < Delta)%N).

Definition gptt : seq int -> {distr (seq bool) / R} := laplace_row never Delta eps1 eps2 T.

Theorem gptt_sums_to_one u : psum (gptt u) = 1.
Proof. exact: laplace_row_sums_to_one. Qed.

Theorem gptt_loss_grows t :
  0 < gptt (crossed' Delta T t) (block t t false true) /\
  expR (t%:R * eps2) * gptt (crossed' Delta T t) (block t t false true) <=
  gptt (crossed Delta T t) (block t t false true).
Proof. by apply: crossed_loss; rewrite // complete_never size_block. Qed.

Theorem gptt_is_not_private eps : refutable Delta eps gptt.
Proof.
have [t lt] := grows_past eps eps20; have [pos le] := gptt_loss_grows t.
exact: refuted (crossed_neighbouring Delta T t) lt pos le.
Qed.

End Gptt.

Section Algorithm6.
Context {R : realType}.
Variables (eps : R) (Delta : nat) (T : int).
Hypotheses (eps0 : 0 < eps) (Delta0 : (0 < Delta)%N).

Definition algorithm_6 : seq int -> {distr (seq bool) / R} := gptt (eps / 2) (eps / 2) Delta T.

Let half_gt0 : 0 < eps / 2.
Proof. by rewrite divr_gt0 ?ltr0n. Qed.

Theorem algorithm_6_sums_to_one u : psum (algorithm_6 u) = 1.
Proof. exact: gptt_sums_to_one. Qed.

Theorem algorithm_6_loss_grows t :
  0 < algorithm_6 (crossed' Delta T t) (block t t false true) /\
  expR ((t + t)%:R * (eps / 4)) * algorithm_6 (crossed' Delta T t) (block t t false true) <=
  algorithm_6 (crossed Delta T t) (block t t false true).
Proof.
have [pos le] := gptt_loss_grows T half_gt0 half_gt0 Delta0 t; split=> //.
have -> // : (t + t)%:R * (eps / 4) = t%:R * (eps / 2).
rewrite natrD mulrDl -mulrDr; congr (_ * _).
by rewrite [RHS]splitr -mulrA -invfM -natrM.
Qed.

Theorem algorithm_6_is_not_private eps' : refutable Delta eps' algorithm_6.
Proof. exact: gptt_is_not_private. Qed.

End Algorithm6.
