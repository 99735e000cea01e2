(** * A gate with gaps for a known number of questions

    As [planned_gate.v], for the gates that release the gap, of one-sided ([exponential]) or of Laplace noise
    ([exponential_gap.v], [laplace_gap.v]). rho has scale Delta/eps1 and nu scale Delta/r; the scales need not be
    those of a split of epsilon, and a plan chooses them.

    [largest_gap_loss exponential monotonic eps1 r m k]: L(m,k) as the code has it, what m BELOW and k ABOVE with their gaps
    cost; for monotonic questions the larger one of rising and falling answers.

    [planned_gap_gate_is_private]: closed after c ABOVE or n questions, the gate is [worst]-DP: the largest
    L(n-k,k) over k <= min(c, n). L never falls when a BELOW is added ([gap_meter_grows]). It is a whole law by
    [exponential_gap_gate_sums_to_one] and [laplace_gap_gate_sums_to_one]. *)

From Sparsegate Require Import prelude privacy gate standard_gate transcripts gap exponential_gap laplace_gap planned_gate.
Local Open Scope ring_scope.

Section PlannedGap.
Context {R : realType}.
Variables (exponential : bool) (c Delta n : nat) (eps1 r : R).
Hypotheses (Delta_gt0 : (0 < Delta)%N) (eps1_gt0 : 0 < eps1) (r_gt0 : 0 < r).

Definition gap_loss (u : way) : nat -> nat -> R :=
  (if exponential then exponential_gap_loss else laplace_gap_loss) u eps1 r.

Definition largest_gap_loss (monotonic : bool) (m k : nat) : R :=
  if monotonic then Num.max (gap_loss Up m k) (gap_loss Down m k) else gap_loss Any m k.

Let grows (m m' : nat) : (m <= m')%N -> m%:R * r <= m'%:R * r.
Proof. by move=> mm; rewrite ler_wpmul2r ?(ltW r_gt0) // ler_nat. Qed.

Let min2 (x x' y y' : R) : x <= x' -> y <= y' -> Num.min x y <= Num.min x' y'.
Proof. by move=> xx yy; rewrite le_minr !le_minl xx yy orbT. Qed.

Lemma exponential_gap_loss_grows u m m' k : (m <= m')%N ->
  exponential_gap_loss u eps1 r m k <= exponential_gap_loss u eps1 r m' k.
Proof.
have kr0 (j : nat) : 0 <= j%:R * r by rewrite mulr_ge0 ?ler0n // ltW.
have e0 := ltW eps1_gt0; case: u m m' => [[|m] [|m']|[|m] [|m']|] //= _; case: ifP => _; rewrite ?addr_ge0 //.
- rewrite le_maxl ler_paddl ?grows ?leq_pmull //= ler_add2l grows // leq_mul2l.
  by rewrite leq_pred orbT.
- by rewrite ler_add2l grows // leq_pred.
Qed.

Lemma laplace_gap_loss_grows u m m' k : (m <= m')%N ->
  laplace_gap_loss u eps1 r m k <= laplace_gap_loss u eps1 r m' k.
Proof.
move=> mm; case: u => /=.
- apply: min2; first by rewrite grows // leq_add2r.
  rewrite ler_add2l grows // leq_mul2l /= leq_min geq_minl /=.
  by apply: leq_trans (geq_minr _ _) _; rewrite half_leq // leq_add2r.
- apply: le_bigmax2 => h _; by apply: min2; rewrite ?grows // leq_add2r.
- apply: le_bigmax2 => h _; by apply: min2; rewrite // ler_add2l grows // leq_add2r.
Qed.

Lemma gap_meter_grows monotonic m m' k : (m <= m')%N -> largest_gap_loss monotonic m k <= largest_gap_loss monotonic m' k.
Proof.
move=> mm; have le u : gap_loss u m k <= gap_loss u m' k.
  by rewrite /gap_loss; case: exponential; [exact: exponential_gap_loss_grows | exact: laplace_gap_loss_grows].
by rewrite /largest_gap_loss; case: monotonic; rewrite // le_maxl !le_maxr !le orbT.
Qed.

Theorem planned_gap_gate_is_private monotonic (T q q' : seq (option int) -> int) (kappa : int)
    (run := (if exponential then exponential_gap_gate else laplace_gap_gate) c Delta eps1 T kappa n r) :
  neighbours monotonic Delta q q' -> within (worst c n (largest_gap_loss monotonic)) (run q) (run q').
Proof.
move=> near_q; have [u mv s_u] := neighbours_move near_q.
have le t : run q t <= expR (largest_gap_loss monotonic (count (predC isSome) t) (count isSome t)) * run q' t.
  apply: (@le_trans _ _ (expR (gap_loss u (count (predC isSome) t) (count isSome t)) * run q' t)).
    rewrite /run /gap_loss; case: exponential.
    - exact: exponential_gap_transcript.
    - exact: laplace_gap_transcript.
  rewrite ler_wpmul2r // ler_expR /largest_gap_loss.
  by case: u {mv} s_u; case: (monotonic) => // _; rewrite le_maxr lexx ?orbT.
move: le; rewrite /run; case: exponential => le; apply: planned => // m m' k; exact: gap_meter_grows.
Qed.

End PlannedGap.
