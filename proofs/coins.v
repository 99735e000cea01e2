(** * Coins, loops and maps in programs that draw

    What the samplers need besides programs.v.

    - [toss_then]: after a coin of bias p the law is p times the one side and 1 - p times the other.
    - [dlim_const]: a loop, as the limit of its first n turns, where those turns settle a value.
    - [dlet_commute]: two draws that do not look at each other may be made in either order.
    - [map_hit], [map_miss]: the law of [h x] for an [h] that is one-to-one. *)

From Sparsegate Require Import prelude sums programs.
Local Open Scope ring_scope.

Section Maps.
Context {R : realType} {T U V : choiceType}.

Lemma dlet_ext (mu nu : {distr T / R}) (f g : T -> {distr U / R}) :
  mu =1 nu -> (forall x, f x =1 g x) -> \dlet_(x <- mu) f x =1 \dlet_(x <- nu) g x.
Proof. by move=> mn fg y; rewrite !dletE; apply: eq_psum => x; rewrite mn fg. Qed.

Lemma dlet_map (mu : {distr T / R}) (h : T -> U) (g : U -> {distr V / R}) :
  \dlet_(y <- dmargin h mu) g y =1 \dlet_(x <- mu) g (h x).
Proof.
by move=> z; rewrite dlet_nested !dletE; apply: eq_psum => x; rewrite dlet_unit.
Qed.

Lemma dlet_commute (mu : {distr T / R}) (nu : {distr U / R}) (f : T -> U -> {distr V / R}) :
  \dlet_(x <- mu) \dlet_(y <- nu) f x y =1 \dlet_(y <- nu) \dlet_(x <- mu) f x y.
Proof.
move=> z; rewrite [LHS]dletE [RHS]dletE; pose S x y := mu x * (nu y * f x y z).
transitivity (psum (fun x => psum (S x))).
  by apply: eq_psum => x; rewrite dletE -psumZ.
rewrite psum_swap => [|x|]; first last.
- apply: (le_summable (F2 := mu)) => // x; rewrite ge0_psum /= psumZ // -dletE.
  by rewrite ler_pimulr ?le1_mu1.
- exact: summableZ (summable_mlet _ _ _).
by apply: eq_psum => y; rewrite dletE -psumZ //; apply: eq_psum => x; rewrite /S /= mulrCA.
Qed.

Lemma map_hit (mu : {distr T / R}) (h : T -> U) x : injective h -> dmargin h mu (h x) = mu x.
Proof.
move=> inj_h; rewrite dletE (psum_point (x := x)) => [|y y_neq]; rewrite dunit1E.
  by rewrite eqxx mulr1 ger0_norm.
by rewrite (inj_eq inj_h) (negbTE y_neq) mulr0.
Qed.

Lemma map_miss (mu : {distr T / R}) (h : T -> U) y : (forall x, h x <> y) -> dmargin h mu y = 0.
Proof.
move=> miss; rewrite dletE psum_eq0 // => x; rewrite dunit1E.
by case: eqP => [/miss|] //; rewrite mulr0.
Qed.

End Maps.

Section Coins.
Context {R : realType}.

Lemma toss_then {T : choiceType} (p : R) (f : bool -> {distr T / R}) x : 0 <= p <= 1 ->
  (\dlet_(b <- dflip p) f b) x = p * f true x + (1 - p) * f false x.
Proof.
move=> p01; rewrite dletE psum_fin /index_enum !unlock /= addr0.
rewrite !ger0_norm ?mulr_ge0 ?ge0_mu // !dflip1E /mflip clamp_in01 //.
Qed.

Lemma flip_mass_one (p : R) : psum (dflip p) = 1.
Proof.
rewrite psum_fin /index_enum !unlock /= addr0 !ger0_norm ?ge0_mu // !dflip1E /mflip.
by rewrite addrCA subrr addr0.
Qed.

Lemma dlim_const {T : choiceType} (f : nat -> {distr T / R}) x (k : nat) (l : R) :
  (forall n, (k <= n)%N -> f n x = l) -> (\dlim_(n) f n) x = l.
Proof. by move=> h; rewrite dlimE (eq_from_nlim (K := k) (v := fun=> l)) // nlimC. Qed.

End Coins.
