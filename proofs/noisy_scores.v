(** * Selection on noisy scores

    Every item i of a finite set has a score q i, an integer (a step of a lattice). All scores get
    discrete Laplace noise; the c largest are selected; ties are broken at random.

    - [ahead y u i j]: the item i comes before j, by the noisy scores y, and where these are equal by
      the order u of the items.
    - [top c y u]: the first c items in that order, a list; [top_scored]: with their noisy scores.
    - [ties]: the law of u, which is uniform on all orders of the items.
    - [noisy_selection a c q]: the selected items, in order, with noise of rate a (scale 1/a).
    - [noisy_release a c q]: the selected items, in order, with their noisy scores.

    - [score_neighbours D monotonic touched q q']: one person moves every score by at most D, and no more
      than m scores where [touched] is m; monotonic scores move all up or all down.
    - [noisy_scale eps D monotonic touched c]: min(s c, m) D / eps, with s = 1 for monotonic scores and
      s = 2 in general; s c D / eps where no m is known.

    Exported here, at this scale:

    - [noisy_selection_sums_to_one], [noisy_release_sums_to_one]: both are whole laws.
    - [noisy_scores_come_free]: if m <= s c, then the selection with its noisy scores is eps-DP.

    The selection without its scores, for every m, is in noisy_selection.v.

    The code orders by q + x + u with u uniform on the reals of (0, 1): the order of d such numbers is
    uniform, and independent of the noise. It draws only those noises that can matter; their law is
    the one that is defined here. *)

From Sparsegate Require Import prelude privacy sums programs laplace independent laplace_mechanism.
Local Open Scope ring_scope.

Section Top.
Context {I : finType}.
Implicit Types (y : {ffun I -> int}) (u : seq I) (i j : I).

Definition ahead y u : rel I :=
  fun i j => (y j < y i) || ((y j == y i) && (index i u <= index j u)%N).

Definition top (c : nat) y u : seq I := take c (sort (ahead y u) (enum I)).

Definition top_scored (c : nat) y u : seq (I * int) := [seq (i, y i) | i <- top c y u].

(** c different items are selected, or all there are. *)
Lemma size_top c y u : size (top c y u) = minn c #|I|.
Proof. by rewrite size_take size_sort -cardE. Qed.

Lemma top_uniq c y u : uniq (top c y u).
Proof. by rewrite take_uniq // sort_uniq enum_uniq. Qed.

End Top.

Section Ties.
Context {R : realType} {I : finType}.

Definition ties : {distr (seq I) / R} := duni (permutations (enum I)).

Lemma duni_mass {T : choiceType} (r : seq T) : uniq r -> r != [::] ->
  psum (duni r : {distr T / R}) = 1.
Proof.
move=> ur r0; rewrite (psum_finseq (r := r)) // => [|x].
  transitivity (\sum_(x <- r) (size r)%:R^-1 : R).
    by apply: eq_big_seq => x xr; rewrite duni1E xr undup_id // mulr1n mul1r ger0_norm ?invr_ge0 ?ler0n.
  rewrite big_const_seq count_predT iter_addr addr0 -[LHS]mulr_natl divff //.
  by rewrite pnatr_eq0 size_eq0.
by rewrite inE duni1E; apply: contraR => /negbTE ->; rewrite mul0r.
Qed.

Lemma ties_mass : psum ties = 1.
Proof.
apply: duni_mass; first exact: permutations_uniq.
by rewrite -size_eq0 size_permutations ?enum_uniq // -lt0n fact_gt0.
Qed.

Lemma ties_perm u : ties u != 0 -> perm_eq u (enum I).
Proof.
by rewrite /ties duni1E mem_permutations; apply: contraR => /negbTE ->; rewrite mul0r.
Qed.

End Ties.

Section NoisyScores.
Context {R : realType} {I : finType}.
Implicit Types (a eps : R) (q y e : {ffun I -> int}) (c m : nat) (monotonic : bool).

Definition noisy_selection a c q : {distr (seq I) / R} :=
  \dlet_(y <- laplace_answers a q) \dlet_(u <- ties) dunit (top c y u).

Definition noisy_release a c q : {distr (seq (I * int)) / R} :=
  \dlet_(y <- laplace_answers a q) \dlet_(u <- ties) dunit (top_scored c y u).

Theorem noisy_selection_sums_to_one a c q : 0 < a -> psum (noisy_selection a c q) = 1.
Proof.
move=> a0; apply: dlet_mass_one => [|y]; first exact: laplace_answers_mass.
by apply: dlet_mass_one => [|u]; [apply: ties_mass | apply: dunit_mass_one].
Qed.

Theorem noisy_release_sums_to_one a c q : 0 < a -> psum (noisy_release a c q) = 1.
Proof.
move=> a0; apply: dlet_mass_one => [|y]; first exact: laplace_answers_mass.
by apply: dlet_mass_one => [|u]; [apply: ties_mass | apply: dunit_mass_one].
Qed.

Definition selected_share (monotonic : bool) c := if monotonic then c else c.*2.

Definition paid monotonic (touched : option nat) c : nat :=
  if touched is Some m then minn (selected_share monotonic c) m else selected_share monotonic c.

Definition noisy_scale eps (D : int) monotonic touched c : R :=
  (Posz (paid monotonic touched c) * D)%:~R / eps.

Definition score_neighbours (D : int) (monotonic : bool) (touched : option nat) (q q' : {ffun I -> int}) :=
  [/\ forall i, `|q' i - q i| <= D,
      if touched is Some m then (#|[pred i | q' i != q i]| <= m)%N else True &
      monotonic -> (forall i, q i <= q' i) \/ (forall i, q' i <= q i)].

(** The neighbour's neighbour: what is said of q and q' is said of q' and q. *)
Lemma score_neighbours_sym (D : int) monotonic touched q (q' : {ffun I -> int}) :
  score_neighbours D monotonic touched q q' -> score_neighbours D monotonic touched q' q.
Proof.
case=> le card mono; split=> [i||/mono [] up]; [by rewrite distrC | | by right | by left].
case: touched card => // m; rewrite (eq_card (B := [pred i | q i != q' i])) // => i.
by rewrite !inE eq_sym.
Qed.

Lemma moved_in_all (D : int) m q (q' : {ffun I -> int}) :
  0 <= D -> (forall i, `|q' i - q i| <= D) -> (#|[pred i | q' i != q i]| <= m)%N ->
  \sum_i `|q' i - q i| <= Posz m * D.
Proof.
move=> D0 le card.
rewrite (bigID [pred i | q' i != q i]) /= [X in _ + X]big1 => [|i /negPn /eqP ->]; last first.
  by rewrite subrr normr0.
rewrite addr0; apply: le_trans (_ : \sum_(i | q' i != q i) D <= _).
  by apply: ler_sum => i _.
rewrite sumr_const -mulr_natl natz ler_wpmul2r // lez_nat.
Qed.

(** With the scale m D / eps the noisy scores themselves are private. *)
Lemma touched_private eps (D : int) m q (q' : {ffun I -> int}) :
  0 < eps -> 0 < D -> (0 < m)%N -> (forall i, `|q' i - q i| <= D) ->
  (#|[pred i | q' i != q i]| <= m)%N ->
  let a := eps / (Posz m * D)%:~R in
  within eps (laplace_answers a q) (laplace_answers a q').
Proof.
move=> e0 D0 m0 le card a; apply: laplace_answers_are_private => //; first by rewrite mulr_gt0.
by apply: moved_in_all => //; apply: ltW.
Qed.

Lemma scaleV eps (D : int) monotonic touched c :
  (noisy_scale eps D monotonic touched c)^-1 = eps / (Posz (paid monotonic touched c) * D)%:~R.
Proof. by rewrite invf_div. Qed.

Theorem noisy_scores_come_free eps (D : int) monotonic m c q (q' : {ffun I -> int}) :
  0 < eps -> 0 < D -> (0 < m)%N -> (m <= selected_share monotonic c)%N ->
  score_neighbours D monotonic (Some m) q q' ->
  let a := (noisy_scale eps D monotonic (Some m) c)^-1 in
  within eps (noisy_release a c q) (noisy_release a c q').
Proof.
move=> e0 D0 m0 /minn_idPr few [le card _]; rewrite /= scaleV /= few.
by apply: within_post; apply: touched_private.
Qed.

End NoisyScores.
