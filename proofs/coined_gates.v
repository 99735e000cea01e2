(** * An analyst who tosses coins, at the other gates

    All coins are tossed before the first question and released beside the answers ([with_coins]); questions and
    thresholds may depend on them and on all answers so far. Coins that are tossed on the way are such coins, read
    later. The standard gate of one bit is in [standard_gate.v]; here are

    - [coined_numeric_gate_is_private], [coined_monotonic_numeric_gate_is_private]: Laplace noise and an answers share,
      (eps1+eps2+eps3)-DP, and less by the smallest share where all answers move one way;
    - [coined_numbered_gap_is_private]: gaps and an answers share, of either noise, (eps1+eps2+eps3)-DP;
    - [coined_exponential_gap_is_private], [coined_laplace_gap_is_private]: gaps alone, (eps1+eps2)-DP;
    - [coined_two_sided_gate_is_private]: the two-sided gate, (eps1+eps2)-DP;
    - [coins_keep_whole_laws]: each of them is a whole law, as it is without coins. *)

From Sparsegate Require Import prelude privacy sums gate laplace_gate standard_gate transcripts.
From Sparsegate Require Import numeric_gate exponential_gap laplace_gap numbered_gap two_sided_gate.
Local Open Scope ring_scope.

Section Coins.
Context {R : realType} {W : choiceType}.
Variable coins : {distr W / R}.

Definition with_coins {Y : choiceType} (mechanism : W -> {distr Y / R}) : {distr (W * Y) / R} :=
  \dlet_(x <- coins) dmargin (pair x) (mechanism x).

Lemma with_coins_private (Y : choiceType) eps (f g : W -> {distr Y / R}) :
  (forall x, within eps (f x) (g x)) -> within eps (with_coins f) (with_coins g).
Proof.
move=> le; rewrite -[eps]add0r; apply: within_compose => [x|x]; first by rewrite expR0 mul1r.
by apply: within_post.
Qed.

Theorem coins_keep_whole_laws (Y : choiceType) (f : W -> {distr Y / R}) :
  psum coins = 1 -> (forall x, psum (f x) = 1) -> psum (with_coins f) = 1.
Proof.
move=> one all_one; apply: dlet_sums_to_one => // x; apply: dlet_sums_to_one => // y.
exact: dunit_sums_to_one.
Qed.

Variables (c Delta : nat) (eps1 eps2 eps3 : R) (kappa : int) (n : nat).
Hypotheses (c0 : (0 < c)%N) (Delta0 : (0 < Delta)%N).
Hypotheses (eps10 : 0 < eps1) (eps20 : 0 < eps2) (eps30 : 0 < eps3).

Section Numeric.
Variables (T : W -> seq (option int) -> int).
Implicit Types (q : W -> seq (option int) -> int).

Definition coined_numeric_gate (s : nat) q :=
  with_coins (fun x => numeric_gate c Delta eps1 eps2 eps3 (T x) n s (q x)).

Theorem coined_numeric_gate_is_private q q' : (forall x, near Delta (q x) (q' x)) ->
  within (eps1 + eps2 + eps3) (coined_numeric_gate 2 q) (coined_numeric_gate 2 q').
Proof. by move=> qq'; apply: with_coins_private => x; apply: numeric_gate_is_private. Qed.

Theorem coined_monotonic_numeric_gate_is_private q q' :
  (forall x, near Delta (q x) (q' x)) -> (forall x, one_way (q x) (q' x)) ->
  within (eps1 + eps2 + eps3 - Num.min eps1 (Num.min eps2 eps3)) (coined_numeric_gate 1 q) (coined_numeric_gate 1 q').
Proof. by move=> qq' way; apply: with_coins_private => x; apply: monotonic_numeric_gate_is_private. Qed.

Theorem coined_exponential_gap_is_private monotonic q q' :
  (forall x, neighbours monotonic Delta (q x) (q' x)) ->
  let gate q := with_coins (fun x =>
    exponential_gap_gate c Delta eps1 (T x) kappa n (eps2 / (sides monotonic * c)%:R) (q x)) in
  within (eps1 + eps2) (gate q) (gate q').
Proof. by move=> qq' gate; apply: with_coins_private => x; apply: exponential_gap_is_free. Qed.

Theorem coined_laplace_gap_is_private monotonic q q' :
  (forall x, neighbours monotonic Delta (q x) (q' x)) ->
  let gate q := with_coins (fun x =>
    laplace_gap_gate c Delta eps1 (T x) kappa n (eps2 / (sides monotonic * c)%:R) (q x)) in
  within (eps1 + eps2) (gate q) (gate q').
Proof. by move=> qq' gate; apply: with_coins_private => x; apply: laplace_gap_is_free. Qed.

End Numeric.

Theorem coined_numbered_gap_is_private exponential monotonic (T : W -> seq (option (int * int)) -> int) q q' :
  (forall x, neighbours monotonic Delta (q x) (q' x)) ->
  let gate q := with_coins (fun x => numbered_gap_gate exponential c Delta eps1 (T x) kappa n
    (eps2 / (sides monotonic * c)%:R) (eps3 / c%:R) (q x)) in
  within (eps1 + eps2 + eps3) (gate q) (gate q').
Proof. by move=> qq' gate; apply: with_coins_private => x; apply: numbered_gap_is_private. Qed.

Theorem coined_two_sided_gate_is_private monotonic (T : W -> seq bool -> int) q q' :
  (forall x, neighbours monotonic Delta (q x) (q' x)) ->
  let gate q := with_coins (fun x => two_sided_gate Delta eps1 (T x) n c eps2 monotonic (q x)) in
  within (eps1 + eps2) (gate q) (gate q').
Proof. by move=> qq' gate; apply: with_coins_private => x; apply: two_sided_gate_is_private. Qed.

End Coins.
