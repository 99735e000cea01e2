(** * Independent draws

    [independent mu]: every item [i] of a finite set draws from its own law [mu i], and none looks
    at another. The outcome is the function that takes each item to what it drew, and

      independent mu x  =  the product of mu i (x i) over all items i.

    [draws mu r] is how a program comes by it: one draw after the other, along a list of items.
    [independent] is that law along the list of all items, read as a function
    ([independent_is_drawn]), and so it sums to one where every [mu i] does ([independent_mass]).

    [independent_aligned] compares two such programs: what each item's law loses adds up. *)

From Sparsegate Require Import prelude privacy sums programs.
Local Open Scope ring_scope.

Section Injections.
Context {R : realType} {T U : choiceType}.

Lemma psum_inj_le (f : U -> R) (h : T -> U) :
  injective h -> summable f -> psum (fun x => f (h x)) <= psum f.
Proof.
move=> hI sf; apply: psum_le => J uJ.
rewrite -(big_map h xpredT (fun y => `|f y|)).
by apply: gerfinseq_psum => //; rewrite map_inj_uniq.
Qed.

End Injections.

Section Draws.
Context {R : realType} {A : choiceType} {I : eqType}.
Implicit Types (mu : I -> {distr A / R}) (r : seq I) (s : seq A).

Fixpoint draws mu r : {distr (seq A) / R} :=
  if r is i :: r' then \dlet_(z <- mu i) \dlet_(s <- draws mu r') dunit (z :: s)
  else dunit [::].

Lemma draws_mass mu r : (forall i, psum (mu i) = 1) -> psum (draws mu r) = 1.
Proof.
move=> mu1; elim: r => [|i r IH] /=; first exact: dunit_mass_one.
apply: dlet_mass_one => // z; apply: dlet_mass_one => // s; exact: dunit_mass_one.
Qed.

Lemma draws_cons mu i r z s : draws mu (i :: r) (z :: s) = mu i z * draws mu r s.
Proof.
rewrite /= dletE (psum_point (x := z)) => [|z' nz].
  rewrite dletE (psum_point (x := s)) => [|s' ns].
    by rewrite dunit1E eqxx mulr1 !ger0_norm // mulr_ge0.
  by rewrite dunit1E eqseq_cons eqxx (negbTE ns) mulr0.
rewrite dletE psum_eq0 ?mulr0 // => s'.
by rewrite dunit1E eqseq_cons (negbTE nz) mulr0.
Qed.

Lemma draws_size mu r s : size s != size r -> draws mu r s = 0.
Proof.
elim: r s => [|i r IH] [|z s] //=; first by rewrite dunit1E.
  move=> _; rewrite dletE psum_eq0 // => z; rewrite dletE psum_eq0 ?mulr0 // => s.
  by rewrite dunit1E mulr0.
by rewrite eqSS => /IH e; rewrite -/(draws mu (i :: r)) draws_cons e mulr0.
Qed.

Lemma draws_map mu r (x : I -> A) : draws mu r (map x r) = \prod_(i <- r) mu i (x i).
Proof.
elim: r => [|i r IH]; first by rewrite big_nil /= dunit1E eqxx.
by rewrite [map _ _]/= draws_cons IH big_cons.
Qed.

End Draws.

Section Independent.
Context {R : realType} {A : choiceType} {I : finType}.
Implicit Types (mu nu : I -> {distr A / R}) (x : {ffun I -> A}).

Lemma fgraph_draws mu x : draws mu (enum I) (fgraph x) = \prod_i mu i (x i).
Proof. by rewrite -codom_ffun codomE draws_map big_enum. Qed.

Lemma isd_independent mu : isdistr (fun x => \prod_i mu i (x i)).
Proof.
split=> [x|J uJ]; first by apply: prodr_ge0.
under eq_bigr do rewrite -fgraph_draws -[draws _ _ _]ger0_norm //.
pose f (x : {ffun I -> A}) := tval (fgraph x).
have fI : injective f by move=> x y /val_inj /(can_inj fgraphK).
rewrite -(big_map f xpredT (fun s => `|draws mu (enum I) s|)).
apply: le_trans (le1_mu (draws mu (enum I))).
by apply: gerfinseq_psum => //; rewrite map_inj_uniq.
Qed.

Definition independent mu : {distr {ffun I -> A} / R} := mkdistr (isd_independent mu).

Lemma independentE mu x : independent mu x = \prod_i mu i (x i).
Proof. by []. Qed.

Lemma independent_is_drawn mu x : independent mu x = draws mu (enum I) (fgraph x).
Proof. by rewrite fgraph_draws. Qed.

Lemma independent_mass mu : (forall i, psum (mu i) = 1) -> psum (independent mu) = 1.
Proof.
move=> mu1; rewrite -(draws_mass (enum I) mu1).
rewrite [RHS](reindex_psum_onto (P := fun s => size s == #|I|)
  (h := fun x : {ffun I -> A} => tval (fgraph x)) (h' := fun s => omap Finfun (insub s))).
- by apply: eq_psum => x; rewrite independent_is_drawn.
- move=> s; apply: contraR; rewrite unfold_in cardE => /(draws_size mu) -> //.
- by move=> s; rewrite unfold_in => es; rewrite insubT; congr Some; apply: (congr1 val (FinfunK (Tuple es))).
- by move=> x _; rewrite valK /= fgraphK.
Qed.

(** The map x -> h x takes what the left side draws to what the right side must draw for the same
    result; the cost of item i is w i. *)
Lemma independent_aligned {U : choiceType} mu nu (h : {ffun I -> A} -> {ffun I -> A}) (w : I -> R)
    (f g : {ffun I -> A} -> {distr U / R}) y :
  injective h -> (forall x i, mu i (x i) <= expR (w i) * nu i (h x i)) ->
  (forall x, f x y <= g (h x) y) ->
  (\dlet_(x <- independent mu) f x) y <= expR (\sum_i w i) * (\dlet_(x <- independent nu) g x) y.
Proof.
move=> hI le fg; rewrite !dletE.
have sg : summable (fun x => independent nu (h x) * g (h x) y).
  exact: (summable_reindex (f := fun x => independent nu x * g x y)) hI (summable_mlet _ _ _).
apply: le_trans (_ : expR (\sum_i w i) * psum (fun x => independent nu (h x) * g (h x) y) <= _).
  apply: le_psum_scaled => // [|x|x]; rewrite ?mulr_ge0 ?(ltW (expR_gt0 _)) //.
  rewrite mulrA ler_pmul // !independentE (big_morph _ (@expRD R) (@expR0 R)) -big_split /=.
  by apply: ler_prod => i _; rewrite ge0_mu le.
rewrite ler_wpmul2l ?(ltW (expR_gt0 _)) //.
exact: (psum_inj_le (f := fun x => independent nu x * g x y)) (summable_mlet _ _ _).
Qed.

End Independent.
