(** * Numbers with Laplace noise

    Scores and answers are integers: steps of a lattice. With discrete Laplace noise of rate a
    (scale 1/a):

    - [laplace_answer a q]: the number q with noise.
    - [laplace_answers a q]: the numbers q i of finitely many entries i, each with noise of its own.

    With rate eps/D, that is scale D/eps:

    - [laplace_answer_is_private]: one number that a person moves by at most D is eps-DP.
    - [laplace_answers_are_private]: so are the numbers of all entries together, if a person moves
      them by at most D in all: the sum over i of |q' i - q i| is at most D.

    What is computed from such numbers is as private, by any rule and with any coins:
    [within_post]. *)

From Sparsegate Require Import prelude privacy sums programs laplace independent.
Local Open Scope ring_scope.

Section LaplaceMechanism.
Context {R : realType} {I : finType}.
Implicit Types (a eps : R) (q y e : {ffun I -> int}).

Definition laplace_answer a (q : int) : {distr int / R} :=
  \dlet_(z <- laplace a) dunit (q + z).

Definition laplace_answers a q : {distr {ffun I -> int} / R} :=
  independent (fun i => laplace_answer a (q i)).

Lemma laplace_answerE a (q y : int) : laplace_answer a q y = laplace a (y - q).
Proof.
rewrite dletE (psum_point (x := y - q)) => [|z nz].
  by rewrite dunit1E addrCA subrr addr0 eqxx mulr1 ger0_norm.
by rewrite dunit1E addrC eq_sym -subr_eq eq_sym (negbTE nz) mulr0.
Qed.

Lemma laplace_answer_mass a (q : int) : 0 < a -> psum (laplace_answer a q) = 1.
Proof.
by move=> a0; apply: dlet_mass_one => [|z]; [apply: laplace_sums_to_one | apply: dunit_mass_one].
Qed.

Lemma laplace_answers_mass a q : 0 < a -> psum (laplace_answers a q) = 1.
Proof. by move=> a0; apply: independent_mass => i; apply: laplace_answer_mass. Qed.

(** If the answer moves by e while the number moves from q to q', the noise moves by e - (q' - q). *)
Lemma laplace_answer_aligned a (q q' y e : int) : 0 < a ->
  laplace_answer a q y <= expR (a * `|e - (q' - q)|%:~R) * laplace_answer a q' (y + e).
Proof.
move=> a0; rewrite !laplace_answerE.
have -> : y + e - q' = (y - q) + (e - (q' - q)).
  by rewrite opprB (addrCA e) subrKA addrA.
exact: laplace_mass_ratio.
Qed.

Lemma laplace_answers_within a q (q' : {ffun I -> int}) : 0 < a ->
  within (\sum_i a * `|q' i - q i|%:~R) (laplace_answers a q) (laplace_answers a q').
Proof.
move=> a0 y; rewrite !independentE (big_morph _ (@expRD R) (@expR0 R)) -big_split /=.
apply: ler_prod => i _; rewrite ge0_mu /=.
by have := laplace_answer_aligned (q i) (q' i) (y i) 0 a0; rewrite sub0r normrN addr0.
Qed.

(** The price of moves that are at most D together, at the rate eps/D. *)
Lemma spent_share eps (D x : int) : 0 < eps -> 0 < D -> x <= D -> eps / D%:~R * x%:~R <= eps.
Proof.
move=> e0 D0 le; rewrite mulrAC ler_pdivr_mulr ?ltr0z //.
by rewrite ler_wpmul2l ?ler_int // ltW.
Qed.

Theorem laplace_answer_is_private eps (D q q' : int) :
  0 < eps -> 0 < D -> `|q' - q| <= D ->
  within eps (laplace_answer (eps / D%:~R) q) (laplace_answer (eps / D%:~R) q').
Proof.
move=> e0 D0 le; have a0 : 0 < eps / D%:~R by rewrite divr_gt0 ?ltr0z.
apply: within_weaken (spent_share e0 D0 le) _ => y.
by have := laplace_answer_aligned q q' y 0 a0; rewrite sub0r normrN addr0.
Qed.

Theorem laplace_answers_are_private eps (D : int) q (q' : {ffun I -> int}) :
  0 < eps -> 0 < D -> \sum_i `|q' i - q i| <= D ->
  within eps (laplace_answers (eps / D%:~R) q) (laplace_answers (eps / D%:~R) q').
Proof.
move=> e0 D0 le; have a0 : 0 < eps / D%:~R by rewrite divr_gt0 ?ltr0z.
apply: within_weaken (laplace_answers_within q q' a0).
by rewrite -mulr_sumr -rmorph_sum spent_share.
Qed.

End LaplaceMechanism.
