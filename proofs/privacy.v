(** * What private means

    Two laws on the same outcomes, one of each of two neighbouring data sets.

    - [within eps mu nu]: no outcome is more than e^eps times as likely under [mu] as under [nu].
      On countable outcomes this is pure eps-differential privacy: [within_events] says so for
      every set of outcomes.
    - [within_delta eps delta mu nu]: the same for every event, but for delta.

    What is proved of them: post-processing ([within_post]) and adaptive composition
    ([within_compose]), where the second mechanism may look at the first one's result. *)

From Sparsegate Require Import prelude.
Local Open Scope ring_scope.

Section Privacy.
Context {R : realType} {T : choiceType}.
Implicit Types (mu nu : {distr T / R}) (eps delta : R).

Definition within eps mu nu := forall x, mu x <= expR eps * nu x.

Definition within_delta eps delta mu nu :=
  forall E : pred T, \P_[mu] E <= expR eps * \P_[nu] E + delta.

Lemma le_psum_scaled (f g : T -> R) (k : R) :
  0 <= k -> (forall x, 0 <= f x) -> (forall x, f x <= k * g x) -> summable g ->
  psum f <= k * psum g.
Proof.
move=> k_ge0 f_ge0 f_le g_sum; rewrite -(psumZ _ k_ge0).
apply: le_psum; last by apply: summableZ.
by move=> x; apply/andP; split=> //; exact: f_le.
Qed.

Lemma within_event eps mu nu (E : pred T) : within eps mu nu -> \P_[mu] E <= expR eps * \P_[nu] E.
Proof.
move=> h; apply: le_psum_scaled; first exact: ltW (expR_gt0 _).
- by move=> x; rewrite mulr_ge0 ?ler0n.
- by move=> x; rewrite mulrCA ler_wpmul2l ?ler0n.
- exact: summable_pr.
Qed.

Theorem within_events eps mu nu :
  within eps mu nu <-> (forall E : pred T, \P_[mu] E <= expR eps * \P_[nu] E).
Proof.
split=> [h E|h x]; first exact: within_event.
by rewrite !pr_pred1; apply: h.
Qed.

Lemma within_weaken eps eps' mu nu : eps <= eps' -> within eps mu nu -> within eps' mu nu.
Proof. by move=> le h x; apply: le_trans (h x) _; rewrite ler_wpmul2r // ler_expR. Qed.

Lemma within_trans e1 e2 mu nu xi : within e1 mu nu -> within e2 nu xi -> within (e1 + e2) mu xi.
Proof.
move=> h1 h2 x; apply: le_trans (h1 x) _.
by rewrite expRD -mulrA ler_wpmul2l ?h2 // ltW // expR_gt0.
Qed.

Lemma within_is_delta eps mu nu : within eps mu nu -> within_delta eps 0 mu nu.
Proof. by move=> h E; rewrite addr0; apply: within_event. Qed.

End Privacy.

Section Composition.
Context {R : realType} {T U : choiceType}.
Implicit Types (mu nu : {distr T / R}) (eps : R).

Theorem within_compose e1 e2 mu nu (f g : T -> {distr U / R}) :
  within e1 mu nu -> (forall x, within e2 (f x) (g x)) ->
  within (e1 + e2) (\dlet_(x <- mu) f x) (\dlet_(x <- nu) g x).
Proof.
move=> h1 h2 y; rewrite !dletE; apply: le_psum_scaled; first exact: ltW (expR_gt0 _).
- by move=> x; rewrite mulr_ge0.
- move=> x; rewrite expRD mulrACA; apply: ler_pmul => //; exact: h2.
- exact: summable_mlet.
Qed.

Theorem within_post eps mu nu (f : T -> {distr U / R}) :
  within eps mu nu -> within eps (\dlet_(x <- mu) f x) (\dlet_(x <- nu) f x).
Proof.
move=> h; rewrite -[eps]addr0; apply: within_compose => // x y.
by rewrite expR0 mul1r.
Qed.

End Composition.
