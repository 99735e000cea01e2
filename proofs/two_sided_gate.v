(** * The two-sided gate

    The gate with Laplace noise ([laplace_gate.v]) that goes on until BOTH answers were given c times,
    or for [n] questions: [true] is ABOVE and [false] is BELOW,

        ABOVE  iff  q h + nu >= T h + rho.

    [two_sided_transcript]: m BELOW and k ABOVE cost at most eps1 + s r min(m, k). s is 2, and 1 where
    all answers move one way. (This holds for every gate with this noise, whenever it closes.)

    [two_sided_gate_is_private]: with r = eps2 / (s c), that is nu of scale s c Delta / eps2, the gate is
    (eps1 + eps2)-DP, as is one that closes after c ABOVE. Whoever gets mostly ABOVE pays for the BELOWs.
    [two_sided_gate_sums_to_one]: it is a whole law.

    The argument: rho is matched with rho + Delta where ABOVE is the rarer answer of the transcript, and
    with rho - Delta where BELOW is. It needs noise that can be shifted both ways, and it is over where
    a number comes with each ABOVE. *)

From Sparsegate Require Import prelude privacy sums laplace gate laplace_gate standard_gate transcripts.
Local Open Scope ring_scope.

(** How often the rarer answer was given. *)
Definition rarer (t : seq bool) := minn (count negb t) (count id t).

Definition closed_after_both (c : nat) t := (c <= rarer t)%N.

Lemma rarer_rcons t b : (rarer (rcons t b) <= (rarer t).+1)%N.
Proof.
rewrite /rarer -cats1 !count_cat /= !addn0 -minnSS leq_min.
apply/andP; split; [apply: leq_trans (geq_minl _ _) _ | apply: leq_trans (geq_minr _ _) _].
- by rewrite -addn1 leq_add2l leq_b1.
by rewrite -addn1 leq_add2l leq_b1.
Qed.

Lemma complete_rarer c n h t :
  (rarer h <= c)%N -> complete (closed_after_both c) n h t -> (rarer (h ++ t) <= c)%N.
Proof.
elim: n h t => [|n IH] h [|a t] //=; rewrite ?cats0 // => _ /andP[].
rewrite /closed_after_both -ltnNge => open; rewrite -cat_rcons; apply: IH.
exact: leq_trans (rarer_rcons h a) open.
Qed.

Section TwoSided.
Context {R : realType}.
Variables (Delta : nat) (eps1 : R) (T : seq bool -> int) (n : nat).
Implicit Types (q : seq bool -> int) (t : seq bool) (r : R).
Hypotheses (Delta_gt0 : (0 < Delta)%N) (eps1_gt0 : 0 < eps1).

Lemma general_loss_rarer r (m k : nat) :
  0 <= r -> general_loss eps1 r m k <= eps1 + 2 * (minn m k)%:R * r.
Proof.
move=> r0; rewrite /general_loss !le_minl; apply/orP; right.
by case: (leqP m k) => _; rewrite lexx ?orbT.
Qed.

Lemma monotonic_loss_rarer r (m k : nat) :
  0 <= r -> monotonic_loss eps1 r m k <= eps1 + (minn m k)%:R * r.
Proof.
move=> r0; rewrite /monotonic_loss /rising_loss /falling_loss le_maxl !le_minl.
by case: (leqP m k) => _; rewrite lexx ler_addr (ltW eps1_gt0) ?orbT.
Qed.

Theorem two_sided_transcript monotonic closed r q q' t : 0 < r -> neighbours monotonic Delta q q' ->
  laplace_gate closed Delta eps1 r T n q t <=
  expR (eps1 + (sides monotonic)%:R * r * (rarer t)%:R) * laplace_gate closed Delta eps1 r T n q' t.
Proof.
move=> r0 [near_q one]; case: monotonic one => /= one.
- apply: le_trans (monotonic_transcript closed T n Delta_gt0 eps1_gt0 r0 t near_q (one isT)) _.
  rewrite ler_wpmul2r // ler_expR mul1r [r * _]mulrC.
  by apply: monotonic_loss_rarer; apply: ltW.
apply: le_trans (general_transcript closed T n Delta_gt0 eps1_gt0 r0 t near_q) _.
by rewrite ler_wpmul2r // ler_expR mulrAC; apply: general_loss_rarer; apply: ltW.
Qed.

(** The scales of the code: Delta/eps1 and s c Delta/eps2. *)
Definition two_sided_gate (c : nat) (eps2 : R) monotonic q : {distr (seq bool) / R} :=
  laplace_gate (closed_after_both c) Delta eps1 (eps2 / (sides monotonic * c)%:R) T n q.

Let rate_gt0 monotonic (c : nat) (eps2 : R) :
  0 < eps2 -> (0 < c)%N -> 0 < eps2 / (sides monotonic * c)%:R.
Proof. by move=> eps2_gt0 c0; rewrite divr_gt0 // ltr0n muln_gt0 c0; case: monotonic. Qed.

Theorem two_sided_gate_sums_to_one monotonic c (eps2 : R) q :
  0 < eps2 -> (0 < c)%N -> psum (two_sided_gate c eps2 monotonic q) = 1.
Proof. by move=> eps2_gt0 c0; apply: laplace_gate_sums_to_one => //; apply: rate_gt0. Qed.

Theorem two_sided_gate_is_private monotonic c (eps2 : R) q q' :
  0 < eps2 -> (0 < c)%N -> neighbours monotonic Delta q q' ->
  within (eps1 + eps2) (two_sided_gate c eps2 monotonic q) (two_sided_gate c eps2 monotonic q').
Proof.
move=> eps2_gt0 c0 near_q t; have r0 := rate_gt0 monotonic eps2_gt0 c0.
case done: (complete (closed_after_both c) n [::] t); last first.
  by rewrite /two_sided_gate /laplace_gate gate_product done mul0r mulr_ge0 // ltW ?expR_gt0.
have le_c : (rarer t <= c)%N := complete_rarer (h := [::]) (leq0n c) done.
apply: le_trans (two_sided_transcript _ t r0 near_q) _.
rewrite ler_wpmul2r // ler_expR ler_add2l; set s : R := (sides monotonic)%:R.
have s0 : s != 0 by rewrite /s; case: (monotonic); rewrite pnatr_eq0.
rewrite natrM invfM mulrCA mulVKf // -mulrA ger_pmulr // mulrC ler_pdivr_mulr ?ltr0n //.
by rewrite mul1r ler_nat.
Qed.

End TwoSided.
