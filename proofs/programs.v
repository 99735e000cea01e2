(** * Programs that draw: one step after another

    [\dlet_(x <- mu) f x] draws x from [mu] and goes on with [f x]; [dmargin h mu] draws from [mu] and
    returns [h] of it. The library's [dlet_dlet] and [pr_dlet] rest on a statement that it leaves
    without a proof; here they are with one ([psum_swap]).

    - [dlet_nested]: drawing in two steps, then going on, is drawing and then going on in two steps.
    - [pr_after]: P[E] of a program is the mean over its first draw.
    - [pr_map]: P[h x in E] under the law of x.
    - [dlet_mass_in], [dlet_mass_one], [map_mass_one]: a program whose every step draws has mass one. *)

From Sparsegate Require Import prelude sums.
Local Open Scope ring_scope.

Section Programs.
Context {R : realType} {T U : choiceType}.
Implicit Types (mu : {distr T / R}) (f : T -> {distr U / R}).

Lemma psum_after mu f (g : U -> R) : (forall y, 0 <= g y <= 1) ->
  psum (fun y => (\dlet_(x <- mu) f x) y * g y) = psum (fun x => mu x * psum (fun y => f x y * g y)).
Proof.
move=> g01; have g0 y : 0 <= g y by case/andP: (g01 y).
have sfg x : summable (fun y => f x y * g y).
  apply: (le_summable (F2 := f x)) => // y; rewrite mulr_ge0 //= ler_pimulr //.
  by case/andP: (g01 y).
have le1 x : psum (fun y => f x y * g y) <= 1.
  apply: le_trans (le1_mu (f x)); apply: le_psum => // y; rewrite mulr_ge0 //= ler_pimulr //.
  by case/andP: (g01 y).
transitivity (psum (fun y => psum (fun x => mu x * (f x y * g y)))).
  apply: eq_psum => y; rewrite dletE mulrC -psumZ //; apply: eq_psum => x /=.
  by rewrite mulrC mulrA.
have E x : mu x * psum (fun y => f x y * g y) = psum (fun y => mu x * (f x y * g y)).
  by rewrite -psumZ.
rewrite [RHS](eq_psum E); symmetry; apply: psum_swap => [x|]; first exact: summableZ.
apply: (le_summable (F2 := mu)) => // x; rewrite -E mulr_ge0 ?ge0_psum //=.
by rewrite ler_pimulr.
Qed.

Lemma pr_after mu f (E : pred U) :
  \P_[\dlet_(x <- mu) f x] E = psum (fun x => mu x * \P_[f x] E).
Proof.
rewrite /pr (eq_psum (F2 := fun y => (\dlet_(x <- mu) f x) y * (E y)%:R)); last first.
  by move=> y; rewrite mulrC.
rewrite psum_after => [|y]; last by rewrite ler0n lern1 leq_b1.
by apply: eq_psum => x; congr (_ * _); apply: eq_psum => y; rewrite mulrC.
Qed.

Lemma pr_map mu (h : T -> U) (E : pred U) : \P_[dmargin h mu] E = \P_[mu] (fun x => E (h x)).
Proof. by rewrite pr_after; apply: eq_psum => x; rewrite pr_dunit mulrC. Qed.

(** Only what can be drawn needs to go on. *)
Lemma dlet_mass_in mu f : psum mu = 1 -> (forall x, mu x != 0 -> psum (f x) = 1) -> psum (\dlet_(x <- mu) f x) = 1.
Proof.
move=> mu1 f1; rewrite -pr_predT pr_after -[RHS]mu1; apply: eq_psum => x.
have [->|/f1 e] := eqVneq (mu x) 0; first by rewrite mul0r.
by rewrite pr_predT e mulr1.
Qed.

Lemma dlet_mass_one mu f : psum mu = 1 -> (forall x, psum (f x) = 1) -> psum (\dlet_(x <- mu) f x) = 1.
Proof. by move=> mu1 f1; apply: dlet_mass_in. Qed.

Lemma dunit_mass_one (x : T) : psum (dunit x : {distr T / R}) = 1.
Proof. by rewrite -pr_predT pr_dunit. Qed.

End Programs.

Section Maps.
Context {R : realType} {T U V : choiceType}.

Lemma map_mass_one (mu : {distr T / R}) (h : T -> U) : psum mu = 1 -> psum (dmargin h mu) = 1.
Proof. by move=> m1; apply: dlet_mass_one => // x; apply: dunit_mass_one. Qed.

Lemma dlet_nested (mu : {distr T / R}) (f : T -> {distr U / R}) (g : U -> {distr V / R}) :
  \dlet_(y <- \dlet_(x <- mu) f x) g y =1 \dlet_(x <- mu) \dlet_(y <- f x) g y.
Proof.
move=> z; rewrite dletE psum_after => [|y]; last by rewrite ge0_mu le1_mu1.
by rewrite [RHS]dletE; apply: eq_psum => x; rewrite dletE.
Qed.

End Maps.
