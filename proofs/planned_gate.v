(** * A gate for a known number of questions

    A gate that closes after c ABOVE, or after n questions, loses no more than the worst of the
    outcomes that it can have. [worst n c L] is the largest L(n-k,k) over k <= min(c, n): L never falls
    when a BELOW is added, so all n questions are used. rho has scale Delta/eps1, nu scale Delta/r and
    numbers Delta/p; the scales need not be those of a split of epsilon, and a plan chooses them.

    - [planned_gate_is_private]: indicators, general and monotonic questions;
    - [planned_numeric_gate_is_private]: the same with numbers;
    - [plain_gate_is_private], [plain_gate_sums_to_one]: no threshold noise at all, and nu of scale
      n Delta/eps: n questions are eps-DP, whatever their number of ABOVE. *)

From Sparsegate Require Import prelude privacy sums laplace gate laplace_gate standard_gate numeric_gate.
Local Open Scope ring_scope.

Section Worst.
Context {R : realType} {A : choiceType}.
Variables (positive : pred A) (c n : nat).
Implicit Types (L : nat -> nat -> R).

Definition worst L : R := \big[Num.max/0]_(k < (minn c n).+1) L (n - k)%N k.

Lemma complete_size closed k (h t : seq A) : complete closed k h t -> (size t <= k)%N.
Proof. by elim: k h t => [|k IH] h [|a t] //= /andP[_ /IH]. Qed.

Lemma planned mu (f g : seq A -> int -> {distr A / R}) L (closed := closed_after positive c) :
  (forall m m' k, (m <= m')%N -> L m k <= L m' k) ->
  (forall t, gate mu closed f n t <=
    expR (L (count (predC positive) t) (count positive t)) * gate mu closed g n t) ->
  within (worst L) (gate mu closed f n) (gate mu closed g n).
Proof.
move=> L_m le t; case done: (complete closed n [::] t); last first.
  by rewrite gate_product done mul0r mulr_ge0 // ltW ?expR_gt0.
have kc : (count positive t <= c)%N by apply: (complete_positives _ done).
have tn := complete_size done; apply: le_trans (le t) _.
rewrite ler_wpmul2r // ler_expR.
have kn : (count positive t < (minn c n).+1)%N.
  by rewrite ltnS leq_min kc (leq_trans (count_size _ _)).
rewrite /worst (bigmaxD1 (Ordinal kn)) //= le_maxr; apply/orP; left; apply: L_m.
by rewrite leq_subRL ?(leq_trans (count_size _ _)) // count_predC.
Qed.

End Worst.

Section Planned.
Context {R : realType}.
Variables (c Delta n : nat) (eps1 r p : R).
Hypotheses (Delta0 : (0 < Delta)%N) (eps10 : 0 < eps1) (r0 : 0 < r) (p0 : 0 < p).

Let grows (m m' : nat) : (m <= m')%N -> m%:R * r <= m'%:R * r.
Proof. by move=> mm; rewrite ler_wpmul2r ?(ltW r0) // ler_nat. Qed.

Let min2 (x x' y y' : R) : x <= x' -> y <= y' -> Num.min x y <= Num.min x' y'.
Proof. by move=> xx yy; rewrite le_minr !le_minl xx yy orbT. Qed.

Let max2 (x x' y y' : R) : x <= x' -> y <= y' -> Num.max x y <= Num.max x' y'.
Proof. by move=> xx yy; rewrite le_maxl !le_maxr xx yy orbT. Qed.

Lemma general_loss_grows m m' k : (m <= m')%N -> general_loss eps1 r m k <= general_loss eps1 r m' k.
Proof.
move=> mm; rewrite /general_loss; apply: min2; first by apply: grows; rewrite leq_add2r.
by apply: min2 => //; rewrite ler_add2l -!mulrA ler_wpmul2l ?ler0n ?grows.
Qed.

Lemma rising_loss_grows m m' k : (m <= m')%N -> rising_loss eps1 r m k <= rising_loss eps1 r m' k.
Proof. by move=> mm; apply: min2 => //; apply: grows. Qed.

Lemma falling_loss_grows m m' k : (m <= m')%N -> falling_loss eps1 r m k <= falling_loss eps1 r m' k.
Proof. by move=> mm; apply: min2 => //; rewrite ler_add2l grows. Qed.

Lemma numeric_rising_loss_grows m m' k :
  (m <= m')%N -> numeric_rising_loss eps1 r p m k <= numeric_rising_loss eps1 r p m' k.
Proof.
move=> mm; apply: bigmax_le => [|[i ik] _] /=.
- apply: le_trans (numeric_rising_loss_ge (i := 0) _ _ _ _ (leq0n k)).
  by rewrite mul0r addr0 le_minr !addr_ge0 ?mulr_ge0 ?ler0n ?(ltW r0) ?(ltW eps10).
- apply: le_trans (numeric_rising_loss_ge _ _ _ _ (ik : (i <= k)%N)).
  by rewrite ler_add2r; apply: min2 => //; apply: grows.
Qed.

Theorem planned_gate_is_private (T q q' : seq bool -> int)
    (run := laplace_gate (closed_after id c) Delta eps1 r T n) : near Delta q q' ->
  within (worst c n (general_loss eps1 r)) (run q) (run q') /\
  (one_way q q' -> within (worst c n (monotonic_loss eps1 r)) (run q) (run q')).
Proof.
move=> qq'; split=> [|way]; apply: planned => [m m' k mm|t].
- exact: general_loss_grows.
- exact: general_transcript.
- by apply: max2; [exact: rising_loss_grows | exact: falling_loss_grows].
- exact: monotonic_transcript.
Qed.

(** With numbers, the loss where all answers rise, or all fall. *)
Definition numeric_monotonic_loss (m k : nat) : R :=
  Num.max (numeric_rising_loss eps1 r p m k) (falling_loss eps1 r m k + k%:R * p).

Theorem planned_numeric_gate_is_private (T q q' : seq (option int) -> int)
    (run := numeric_laplace_gate (closed_after isSome c) Delta eps1 r p T n) : near Delta q q' ->
  within (worst c n (fun m k => general_loss eps1 r m k + k%:R * p)) (run q) (run q') /\
  (one_way q q' -> within (worst c n numeric_monotonic_loss) (run q) (run q')).
Proof.
move=> qq'; split=> [|way]; apply: planned => [m m' k mm|t].
- by rewrite ler_add2r general_loss_grows.
- exact: numeric_general_transcript.
- by apply: max2; rewrite ?ler_add2r; [exact: numeric_rising_loss_grows | exact: falling_loss_grows].
case: way => le.
- apply: le_trans (numeric_rising_transcript _ _ _ Delta0 eps10 r0 p0 t qq' le) _.
  by rewrite ler_wpmul2r // ler_expR le_maxr lexx.
- apply: le_trans (numeric_falling_transcript _ _ _ Delta0 eps10 r0 p0 t qq' le) _.
  by rewrite ler_wpmul2r // ler_expR le_maxr lexx orbT.
Qed.

End Planned.

Section Plain.
Context {R : realType}.
Variables (Delta n : nat) (eps : R) (closed : seq bool -> bool) (T : seq bool -> int).
Hypotheses (Delta0 : (0 < Delta)%N) (n0 : (0 < n)%N) (eps0 : 0 < eps).
Implicit Types (q : seq bool -> int).

(** rho is 0, and nu of scale n Delta/eps. *)
Definition plain_gate q : {distr (seq bool) / R} :=
  gate (dunit 0) closed (fun h => compare (eps / n%:R / Delta%:R) (q h) (T h)) n.

Let rate_gt0 : 0 < eps / n%:R / Delta%:R. Proof. by rewrite !divr_gt0 ?ltr0n. Qed.

Theorem plain_gate_sums_to_one q : psum (plain_gate q) = 1.
Proof.
apply: gate_sums_to_one => [|h rho]; first exact: dunit_sums_to_one.
exact: compare_sums_to_one.
Qed.

Theorem plain_gate_is_private q q' : near Delta q q' -> within eps (plain_gate q) (plain_gate q').
Proof.
move=> qq' t; case done: (complete closed n [::] t); last first.
  by rewrite /plain_gate gate_product done mul0r mulr_ge0 // ltW ?expR_gt0.
pose w h := answer_cost (eps / n%:R / Delta%:R) 0 (q' h - q h).
pose step h := compare (eps / n%:R / Delta%:R) (q' h) (T h).
apply: le_trans (@gate_alignment _ _ _ _ _ step n 0 0 w t _ _) _.
- by move=> rho; rewrite expR0 mul1r addr0.
- by move=> h rho b; apply: compare_ratio.
apply: ler_wpmul2r => //; rewrite ler_expR add0r.
apply: le_trans (cost_counts (positive := id) (u := eps / n%:R) (v := eps / n%:R) _ _ _) _.
  move=> h b; rewrite if_same -[leRHS]mul1r; apply: (steps_cost (j := 1)) => //.
    by rewrite divr_gt0 ?ltr0n.
  rewrite le_maxl mul1n lez_nat leq0n /=.
  case: b; last by rewrite subr0; apply: near_hi.
  by rewrite sub0r ler_oppl; apply: near_lo.
rewrite -mulrDl -natrD count_predC mulrCA ger_pmulr // ler_pdivr_mulr ?ltr0n // mul1r ler_nat.
exact: complete_size done.
Qed.

End Plain.
