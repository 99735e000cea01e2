(** * Peeling with a small delta: top-c over a known domain, by bounded range

    The mechanism is [peel] (peeling.v): c draws of the exponential mechanism without replacement, each at the
    rate [selection_rate e 1 Delta monotonic], for e-bounded-range. The rounds are paid for by bounded range
    (bounded_range.v) in place of equal shares of epsilon. [peel] adds each draw to the front of what follows, as
    [rounds] does, but its rounds have a law only while candidates are left: hence an induction of its own.

    Exported:
    - [peeling_by_bounded_range]: if for a rational alpha > 1
      (c e^2 / 8) alpha + [ln(1/delta) + (alpha - 1) ln(1 - 1/alpha) - ln alpha] / (alpha - 1) <= eps,
      the sequence of c candidates is (eps, delta)-private, order included. (Neighbours are symmetric: it is so
      both ways.) There are at least c candidates: with fewer, there is no such sequence.
    - [grouped_peeling_by_bounded_range]: so is what is drawn by groups of equal scores, as the code does.

    The whole law: [peeling_sums_to_one]. Where the even share eps / c is larger than such an e, the code takes
    it, and [peeling_is_private] holds without a delta. *)

From Sparsegate Require Import prelude.
(* Sets are finite here, and not those of the classical library. *)
From mathcomp Require Import finset.
From Sparsegate Require Import privacy approximate exponential_mechanism peeling renyi bounded_range.
Local Open Scope ring_scope.

Section Peeling.
Context {R : realType} {T : finType}.
Implicit Types (q : T -> R) (A : {set T}) (e eps delta Delta : R) (c num den : nat) (monotonic : bool).

(** Whatever was drawn, one candidate less is left at most: every round has one to draw. *)
Lemma peel_moment monotonic e Delta q q' num den c A :
  (0 < den <= num)%N -> 0 <= e -> 0 < Delta -> scores_move monotonic Delta q q' -> (c <= #|A|)%N ->
  let alpha := num%:R / den%:R in let a := selection_rate e 1 Delta monotonic in
  moment_within alpha (expR (alpha * (alpha - 1) * e ^+ 2 / 8) ^+ c) (peel a q c A) (peel a q' c A).
Proof.
move=> order e_ge0 D_gt0 near + alpha a.
elim: c A => [|c IH] A enough /=; first by rewrite expr0; apply: moment_refl.
have some : A != set0 by rewrite -card_gt0; case: #|A| enough.
rewrite exprS; apply: moments_multiply => [||x].
- by rewrite exprn_ge0 // expR_ge0.
- apply: bounded_range_moment order; rewrite ?exponential_sums_to_one //.
  exact: exponential_bounded_range.
by apply: IH; rewrite -ltnS; apply: leq_trans enough _; rewrite (cardsD1 x) -add1n leq_add2r leq_b1.
Qed.

Theorem peeling_by_bounded_range monotonic e eps delta Delta q q' num den c A :
  0 <= e -> 0 < delta -> 0 < Delta -> (0 < den < num)%N -> scores_move monotonic Delta q q' -> (c <= #|A|)%N ->
  let alpha := num%:R / den%:R in
  c%:R * e ^+ 2 / 8 * alpha + (ln (delta^-1) + (alpha - 1) * ln (1 - alpha^-1) - ln alpha) / (alpha - 1) <= eps ->
  let a := selection_rate e 1 Delta monotonic in
  within_delta eps delta (peel a q c A) (peel a q' c A).
Proof.
move=> e_ge0 delta_gt0 D_gt0 order near enough alpha price a.
by apply: rounds_price price => //; apply: peel_moment => //; case/andP: order => -> /ltnW.
Qed.

End Peeling.

Section Groups.
Context {R : realType} {T G : finType}.
Implicit Types (v : G -> R) (A : {set T}) (e eps delta Delta : R) (c num den : nat) (monotonic : bool).

(** The neighbour's equal scores form other groups. *)
Theorem grouped_peeling_by_bounded_range (group group' : T -> G) monotonic e eps delta Delta v v' num den c A :
  0 <= e -> 0 < delta -> 0 < Delta -> (0 < den < num)%N ->
  scores_move monotonic Delta (v \o group) (v' \o group') -> (c <= #|A|)%N ->
  let alpha := num%:R / den%:R in
  c%:R * e ^+ 2 / 8 * alpha + (ln (delta^-1) + (alpha - 1) * ln (1 - alpha^-1) - ln alpha) / (alpha - 1) <= eps ->
  let a := selection_rate e 1 Delta monotonic in
  within_delta eps delta (grouped_peel group a v c A) (grouped_peel group' a v' c A).
Proof.
move=> e_ge0 delta_gt0 D_gt0 order near enough alpha price a E.
have same (g : T -> G) w : \P_[grouped_peel g a w c A] E = \P_[peel a (w \o g) c A] E.
  by apply: eq_psum => s; rewrite grouped_peeling_is_peeling.
by rewrite !same; apply: (peeling_by_bounded_range e_ge0 delta_gt0 D_gt0 order near enough price).
Qed.

End Groups.
