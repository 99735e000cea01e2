(** * The standard gate is private

    Alg. 7 of the paper without numeric answers: the gate of [laplace_gate.v], closed after c ABOVE
    ([closed_after]), with

        rho ~ Lap(Delta/eps1),   nu ~ Lap(s c Delta/eps2),   s = 2, or 1 for monotonic questions.

    For every number [n] of questions, adaptively chosen, and neighbours that move every answer by at
    most Delta:

    - [standard_gate_is_private]: (eps1+eps2)-DP at s = 2;
    - [monotonic_gate_is_private]: (eps1+eps2)-DP at s = 1 where all answers move one way;
    - [standard_gate_sums_to_one]: it is a whole law;
    - [halves_gate_is_private], [halves_gate_monotonic]: Alg. 1, eps1 = eps2 = eps/2 and s = 2, is
      eps-DP, and (3/4 eps)-DP where all answers move one way;
    - [coined_gate_is_private], [coined_monotonic_gate_is_private]: the same for an analyst who
      tosses coins, the coins released beside the answers.

    The neighbour relation is symmetric ([near], [one_way]), so each holds both ways. *)

From Sparsegate Require Import prelude privacy sums laplace gate laplace_gate.
Local Open Scope ring_scope.

(** A gate that closes after [c] positives: of those transcripts that can be, none has more. *)
Section Closing.
Context {R : realType} {A : choiceType}.
Variables (positive : pred A) (c : nat).

Definition closed_after (h : seq A) := (c <= count positive h)%N.

Lemma complete_positives n h t :
  (count positive h <= c)%N -> complete closed_after n h t -> (count positive (h ++ t) <= c)%N.
Proof.
elim: n h t => [|n IH] h [|a t] //=; rewrite ?cats0 // => h_le /andP[open].
rewrite -cat_rcons; apply: IH; rewrite -cats1 count_cat /= addn0.
move: open; rewrite /closed_after -ltnNge => open.
by apply: leq_trans open; rewrite -addn1 leq_add2l leq_b1.
Qed.

Lemma gate_within mu (f g : seq A -> int -> {distr A / R}) n eps :
  (forall t, (count positive t <= c)%N ->
    gate mu closed_after f n t <= expR eps * gate mu closed_after g n t) ->
  within eps (gate mu closed_after f n) (gate mu closed_after g n).
Proof.
move=> le t; case done: (complete closed_after n [::] t).
- by apply: le; apply: (complete_positives _ done).
- by rewrite gate_product done mul0r mulr_ge0 // ltW ?expR_gt0.
Qed.

End Closing.

Section Private.
Context {R : realType}.
Variables (c Delta : nat) (eps1 eps2 : R) (T : seq bool -> int) (n : nat).
Hypotheses (c0 : (0 < c)%N) (Delta0 : (0 < Delta)%N) (eps10 : 0 < eps1) (eps20 : 0 < eps2).
Implicit Types (q : seq bool -> int).

(** rho of scale Delta/eps1 and nu of scale s c Delta/eps2, closed after c ABOVE. *)
Definition standard_gate (s : nat) q : {distr (seq bool) / R} :=
  laplace_gate (closed_after id c) Delta eps1 (eps2 / (s * c)%:R) T n q.

Let rate_gt0 (s : nat) : (0 < s)%N -> 0 < eps2 / (s * c)%:R.
Proof. by move=> s0; rewrite divr_gt0 // ltr0n muln_gt0 s0. Qed.

Let positives_cost (s k : nat) : (0 < s)%N -> (k <= c)%N -> s%:R * k%:R * (eps2 / (s * c)%:R) <= eps2.
Proof.
move=> s0 kc; rewrite mulrCA ger_pmulr // -natrM ler_pdivr_mulr ?ltr0n ?muln_gt0 ?s0 // mul1r.
by rewrite ler_nat leq_mul2l kc orbT.
Qed.

Theorem standard_gate_sums_to_one s q : (0 < s)%N -> psum (standard_gate s q) = 1.
Proof. by move=> s0; apply: laplace_gate_sums_to_one => //; apply: rate_gt0. Qed.

Theorem standard_gate_is_private q q' :
  near Delta q q' -> within (eps1 + eps2) (standard_gate 2 q) (standard_gate 2 q').
Proof.
move=> qq'; apply: gate_within => t kc.
apply: le_trans (general_transcript (closed_after id c) T n Delta0 eps10 (rate_gt0 _) t qq') _ => //.
rewrite ler_wpmul2r // ler_expR /general_loss !le_minl; apply/orP; right; apply/orP; left.
by rewrite ler_add2l; apply: positives_cost.
Qed.

Theorem monotonic_gate_is_private q q' :
  near Delta q q' -> one_way q q' -> within (eps1 + eps2) (standard_gate 1 q) (standard_gate 1 q').
Proof.
move=> qq' way; apply: gate_within => t kc.
apply: le_trans (monotonic_transcript (closed_after id c) T n Delta0 eps10 (rate_gt0 _) t qq' way) _ => //.
have le := positives_cost (ltn0Sn 0) kc; rewrite mul1r in le.
rewrite ler_wpmul2r // ler_expR /monotonic_loss le_maxl !le_minl; apply/andP; split; apply/orP.
- by right; rewrite ler_add2l.
- by left; apply: le_trans le _; rewrite ler_addr ltW.
Qed.

End Private.

(** Alg. 1 of the paper spends half of eps on the threshold, and its noise is 2c Delta/eps2 always. *)
Section Halves.
Context {R : realType}.
Variables (c Delta : nat) (eps : R) (T : seq bool -> int) (n : nat).
Hypotheses (c0 : (0 < c)%N) (Delta0 : (0 < Delta)%N) (eps0 : 0 < eps).
Implicit Types (q : seq bool -> int).

Definition halves_gate q := standard_gate c Delta (eps / 2) (eps / 2) T n 2 q.

Theorem halves_gate_is_private q q' : near Delta q q' -> within eps (halves_gate q) (halves_gate q').
Proof.
by move=> qq'; rewrite {1}[eps]splitr; apply: standard_gate_is_private; rewrite ?divr_gt0 ?ltr0n.
Qed.

Theorem halves_gate_monotonic q q' :
  near Delta q q' -> one_way q q' -> within (3 / 4 * eps) (halves_gate q) (halves_gate q').
Proof.
have quarter : 4^-1 = 2^-1 / 2 :> R by rewrite -invfM -natrM.
have r_eq : eps / 2 / (2 * c)%:R = eps / 4 / (1 * c)%:R.
  by rewrite mul1n natrM invfM quarter !mulrA.
have e_eq : 3 / 4 * eps = eps / 2 + eps / 4.
  have three : 3 = 2 + 1 :> R by rewrite natr1.
  by rewrite three mulrDl mul1r quarter [2 * _]mulrA divff ?pnatr_eq0 // mul1r mulrC mulrDr.
move=> qq' way; rewrite e_eq /halves_gate /standard_gate r_eq.
by apply: (monotonic_gate_is_private (eps2 := eps / 4)) => //; rewrite divr_gt0 ?ltr0n.
Qed.

End Halves.

(** An analyst who tosses all coins before the first question, and keeps them beside the answers. *)
Section Coins.
Context {R : realType} {W : choiceType}.
Variables (coins : {distr W / R}) (c Delta : nat) (eps1 eps2 : R) (T : W -> seq bool -> int) (n : nat).
Hypotheses (c0 : (0 < c)%N) (Delta0 : (0 < Delta)%N) (eps10 : 0 < eps1) (eps20 : 0 < eps2).
Implicit Types (q : W -> seq bool -> int).

Definition coined_gate (s : nat) q : {distr (W * seq bool) / R} :=
  \dlet_(x <- coins) dmargin (pair x) (standard_gate c Delta eps1 eps2 (T x) n s (q x)).

Let coined eps s q q' :
  (forall x, within eps (standard_gate c Delta eps1 eps2 (T x) n s (q x))
                        (standard_gate c Delta eps1 eps2 (T x) n s (q' x))) ->
  within eps (coined_gate s q) (coined_gate s q').
Proof.
move=> le; rewrite -[eps]add0r; apply: within_compose => [x|x]; first by rewrite expR0 mul1r.
by apply: within_post.
Qed.

Theorem coined_gate_is_private q q' : (forall x, near Delta (q x) (q' x)) ->
  within (eps1 + eps2) (coined_gate 2 q) (coined_gate 2 q').
Proof. by move=> qq'; apply: coined => x; apply: standard_gate_is_private. Qed.

Theorem coined_monotonic_gate_is_private q q' :
  (forall x, near Delta (q x) (q' x)) -> (forall x, one_way (q x) (q' x)) ->
  within (eps1 + eps2) (coined_gate 1 q) (coined_gate 1 q').
Proof. by move=> qq' way; apply: coined => x; apply: monotonic_gate_is_private. Qed.

End Coins.
