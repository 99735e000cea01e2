(** * The filter of a ledger that adds up rho

    Steps one after another, each chosen by all that was seen before. Given a history [h], the outcome [y] of the next
    step has probability [p h y] on one data set and [q h y] on its neighbour. [transcript_chance p h t] is the
    probability that the outcomes after [h] are [t]; [transcript_moment p q a n h] is the sum over all transcripts [t]
    of [n] outcomes after [h] of

        P(t) ^ (a + 1) / Q(t) ^ a,

    of which alpha = a + 1 is a whole number of at least 2 where [0 < a]. A step is charged [m h y] > 0, which may depend
    on its outcome: in the code it is exp(alpha (alpha - 1) rho), with the rho that is charged. What is asked of a step:

        the sum over y of p h y ^ (a + 1) / q h y ^ a / m h y is at most 1.

    That is zCDP of the step for this alpha, where [m h y] is the same for all [y]; of a question that costs where it is
    ABOVE it is what [gates/per_above.py] shows. [charges m h t] is the product of the charges along [t].

    - [filter_moment]: if no transcript of [n] steps pays more than [M], [transcript_moment p q a n] is at most [M].
    - [filter_moment_fixed]: the same where a step has a charge before it is made.

    So sums of rho that a filter keeps below a budget bound the moment of the whole transcript, whoever asks whatever. A
    transcript that stops earlier is one whose further steps have one outcome, on both sides, and are charged 1.

    Where [q h y] is 0, so must [p h y] be, or no moment is finite: in Coq a number divided by 0 is 0.

    Beside the code: alpha is a whole number, steps have finitely many outcomes, and there are at most n of them. Deltas
    of steps, the conversion to (epsilon, delta) and the rho's of releases are not here. *)

From mathcomp Require Import all_ssreflect ssralg ssrnum.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Filter.

Variables (R : realFieldType) (T : finType).

(** The probability of the outcomes [t] after the history [h], and what they are charged. *)
Fixpoint transcript_chance (law : seq T -> T -> R) (h t : seq T) : R :=
  if t is y :: rest then law h y * transcript_chance law (rcons h y) rest else 1.

Definition charges := transcript_chance.

Definition transcript_moment (p q : seq T -> T -> R) (a n : nat) (h : seq T) : R :=
  \sum_(t : n.-tuple T) transcript_chance p h t ^+ a.+1 / transcript_chance q h t ^+ a.

Variables (p q m : seq T -> T -> R) (a : nat).

Hypothesis p_ge0 : forall h y, 0 <= p h y.
Hypothesis q_ge0 : forall h y, 0 <= q h y.
Hypothesis m_gt0 : forall h y, 0 < m h y.

Definition step_moment (h : seq T) (y : T) := p h y ^+ a.+1 / q h y ^+ a.

Lemma step_moment_ge0 h y : 0 <= step_moment h y.
Proof. by rewrite /step_moment divr_ge0 ?exprn_ge0. Qed.

Lemma charges_gt0 h t : 0 < charges m h t.
Proof. by elim: t h => [|y t IH] h; rewrite /charges /= ?ltr01 // mulr_gt0. Qed.

Lemma transcript_moment0 h : transcript_moment p q a 0 h = 1.
Proof.
rewrite /transcript_moment (big_pred1 [tuple]) => [|t]; last by apply/esym/eqP/val_inj; case: t => -[].
by rewrite /= !expr1n invr1 mulr1.
Qed.

(** The first outcome, and then the others. *)
Lemma transcript_momentS n h :
  transcript_moment p q a n.+1 h = \sum_y step_moment h y * transcript_moment p q a n (rcons h y).
Proof.
rewrite /transcript_moment.
rewrite (reindex (fun yt : T * n.-tuple T => [tuple of yt.1 :: yt.2])) /=; last first.
  exists (fun t : n.+1.-tuple T => (thead t, [tuple of behead t])) => [[y t] _|t _].
    by congr (_, _); apply: val_inj.
  by rewrite [in RHS](tuple_eta t).
rewrite -(pair_bigA _ (fun y (t : n.-tuple T) =>
  (p h y * transcript_chance p (rcons h y) t) ^+ a.+1 / (q h y * transcript_chance q (rcons h y) t) ^+ a)) /=.
apply: eq_bigr => y _; rewrite big_distrr /=; apply: eq_bigr => t _.
by rewrite /step_moment !exprMn invfM mulrACA.
Qed.

Lemma filter_from n : forall h M, 0 <= M ->
  (forall h', \sum_y step_moment h' y / m h' y <= 1) ->
  (forall t : n.-tuple T, charges m h t <= M) ->
  transcript_moment p q a n h <= M.
Proof.
elim: n => [|n IH] h M M0 step within.
  by rewrite transcript_moment0; have := within [tuple].
rewrite transcript_momentS.
apply: (@le_trans _ _ (\sum_y step_moment h y / m h y * M)).
  apply: ler_sum => y _; rewrite -mulrA ler_wpmul2l ?step_moment_ge0 //.
  apply: IH => [||t] //; first by rewrite mulr_ge0 // invr_ge0 ltW.
  rewrite mulrC ler_pdivl_mulr // mulrC.
  exact: (within [tuple of y :: t]).
rewrite -big_distrl /= -[leRHS]mul1r.
exact: ler_wpmul2r.
Qed.

Theorem filter_moment n M : 0 <= M -> (forall h y, q h y = 0 -> p h y = 0) ->
  (forall h, \sum_y step_moment h y / m h y <= 1) ->
  (forall t : n.-tuple T, charges m [::] t <= M) ->
  transcript_moment p q a n [::] <= M.
Proof. by move=> *; apply: filter_from. Qed.

End Filter.

(** Where a step has its charge before it is made. *)
Theorem filter_moment_fixed (R : realFieldType) (T : finType) (p q : seq T -> T -> R) (m : seq T -> R) a n M :
  (forall h y, 0 <= p h y) -> (forall h y, 0 <= q h y) -> (forall h y, q h y = 0 -> p h y = 0) ->
  (forall h, 0 < m h) -> 0 <= M ->
  (forall h, \sum_y p h y ^+ a.+1 / q h y ^+ a <= m h) ->
  (forall t : n.-tuple T, charges (fun h _ => m h) [::] t <= M) ->
  transcript_moment p q a n [::] <= M.
Proof.
move=> p0 q0 pq m0 M0 step within; apply: (@filter_moment R T p q (fun h _ => m h)) => // h.
rewrite -big_distrl /= ler_pdivr_mulr // mul1r; exact: step.
Qed.
