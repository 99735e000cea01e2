(** * The c largest noisy scores, whatever a person touches

    The mechanism of noisy_scores.v without the noisy scores, at the scale min(s c, m) D / eps:

    - [noisy_selection_is_private]: the c selected items, in their order, are eps-DP for every m.
    - [report_noisy_max_is_private]: the same for c = 1, the item with the largest noisy score;
      [noisy_maxP] says that it is that item.

    The argument where m > s c. Fix a selection, and let t = D; or t = 0, if no score rises. Each
    selected item's noisy score is raised by t, every other's by what its score moves, so that its
    noise stays the same. Nobody else rises by more than t: the selection is the same, and equal noisy
    scores are still ordered by u ([top_aligned]). The noise of a selected item has changed by
    t - (q' i - q i), which is at most s D; there are c of them, so this costs e^(s c D / scale). *)

From Sparsegate Require Import prelude privacy sums programs laplace independent laplace_mechanism noisy_scores.
Local Open Scope ring_scope.

Section Top.
Context {I : finType}.
Implicit Types (y : {ffun I -> int}) (u : seq I) (i j : I).

Lemma ahead_total y u : total (ahead y u).
Proof.
move=> i j; rewrite /ahead; case: (ltgtP (y j) (y i)) => //= _; exact: leq_total.
Qed.

Lemma ahead_trans y u : transitive (ahead y u).
Proof.
move=> j i k /orP[ji|/andP[/eqP ji uij]] /orP[kj|/andP[/eqP kj ujk]]; apply/orP.
- by left; apply: lt_trans kj ji.
- by left; rewrite kj.
- by left; rewrite -ji.
- by right; rewrite kj ji eqxx (leq_trans uij).
Qed.

Lemma ahead_anti y u : perm_eq u (enum I) -> antisymmetric (ahead y u).
Proof.
move=> pu i j; rewrite /ahead; case: (ltgtP (y j) (y i)) => //= _.
have mu k : k \in u by rewrite (perm_mem pu) mem_enum.
by rewrite -eqn_leq => /eqP /(congr1 (nth i u)); rewrite !nth_index.
Qed.

Lemma ahead_shift y u (e : {ffun I -> int}) i j :
  e j <= e i -> ahead y u i j -> ahead (y + e) u i j.
Proof.
move=> le; rewrite /ahead !ffunE => /orP[lt|/andP[/eqP -> uij]].
  by rewrite ltr_le_add.
by rewrite ltr_add2l (inj_eq (addrI _)) uij andbT orbC -le_eqVlt.
Qed.

(** What rises with the selected keeps its order, and nobody else overtakes. *)
Lemma top_aligned c y u (e : {ffun I -> int}) (t : int) : perm_eq u (enum I) ->
  (forall i, i \in top c y u -> e i = t) -> (forall i, e i <= t) ->
  top c (y + e) u = top c y u.
Proof.
move=> pu et le; rewrite /top in et *; set s := sort (ahead y u) (enum I) in et *.
have ss : pairwise (ahead y u) s.
  by rewrite -(sorted_pairwise (@ahead_trans y u)); apply: sort_sorted; apply: ahead_total.
set r := ahead (y + e) u; have rT : transitive r by apply: ahead_trans.
suff -> : sort r (enum I) = take c s ++ sort r (drop c s).
  case: (leqP c (size s)) => [cs|/ltnW sc]; first by rewrite take_size_cat // size_takel.
  by rewrite drop_oversize // cats0 take_take.
apply: (sorted_eq rT (ahead_anti pu)); first by apply: sort_sorted; apply: ahead_total.
  move: ss; rewrite -{1}(cat_take_drop c s) pairwise_cat => /and3P[/allrelP out inn _].
  rewrite sorted_pairwise // pairwise_cat -[pairwise r (sort _ _)]sorted_pairwise //.
  rewrite (sort_sorted (@ahead_total _ _)) andbT; apply/andP; split.
    apply/allrelP => i j si; rewrite mem_sort => sj.
    by apply: ahead_shift; rewrite ?(et _ si) ?le ?out.
  apply: (sub_in_pairwise (P := mem (take c s)) _ _ inn); last exact/allP.
  by move=> i j si sj; apply: ahead_shift; rewrite (et _ si) le.
rewrite perm_sort perm_sym (perm_trans _ (permEl (perm_sort (ahead y u) _))) // -/s.
by rewrite -[in X in perm_eq _ X](cat_take_drop c s) perm_cat2l perm_sort.
Qed.

End Top.

Section NoisySelection.
Context {R : realType} {I : finType}.
Implicit Types (a eps : R) (q y e : {ffun I -> int}) (c m : nat) (monotonic : bool).

Lemma selection_aligned a c q (q' : {ffun I -> int}) (t w : int) : 0 < a -> 0 <= w ->
  (forall i, q' i - q i <= t) -> (forall i, `|t - (q' i - q i)| <= w) ->
  within (a * (Posz c * w)%:~R) (noisy_selection a c q) (noisy_selection a c q').
Proof.
move=> a0 w0 let_ lew o.
pose S := take c o; pose e := [ffun i => if i \in S then t else q' i - q i].
have cost : \sum_i a * `|e i - (q' i - q i)|%:~R <= a * (Posz c * w)%:~R.
  rewrite -mulr_sumr -rmorph_sum ler_wpmul2l ?ler_int ?(ltW a0) //.
  rewrite (bigID (mem S)) /= [X in _ + X]big1 => [|i iS]; last first.
    by rewrite ffunE (negbTE iS) subrr normr0.
  rewrite addr0; apply: le_trans (_ : \sum_(i in S) w <= _).
    by apply: ler_sum => i iS; rewrite ffunE iS.
  rewrite sumr_const -mulr_natl natz ler_wpmul2r // lez_nat.
  by rewrite (leq_trans (card_size _)) // size_take; case: ltnP.
apply: le_trans (_ : expR (\sum_i a * `|e i - (q' i - q i)|%:~R) * noisy_selection a c q' o <= _);
  last by rewrite ler_wpmul2r // ler_expR.
apply: (independent_aligned (h := fun y => y + e)) => [y y' /addIr //|y i|y].
  have -> : (y + e) i = y i + e i by rewrite [LHS]ffunE.
  exact: laplace_answer_aligned.
rewrite !dletE; apply: le_psum; last exact: summable_mlet.
move=> u; rewrite mulr_ge0 //=; case: (eqVneq (ties u : R) 0) => [->|/ties_perm pu].
  by rewrite !mul0r.
rewrite ler_wpmul2l // !dunit1E ler_nat; case: eqP => // yo.
rewrite (top_aligned (t := t)) ?yo ?eqxx // => i; rewrite ffunE.
- by move=> io; rewrite /S -yo /top take_take // -/(top c y u) yo io.
- by case: ifP.
Qed.

(** With the scale s c D / eps the selection is: all rise by D, or, where no score rises, by 0. *)
Lemma share_private eps (D : int) monotonic c q (q' : {ffun I -> int}) :
  0 < eps -> 0 < D -> (0 < c)%N -> (forall i, `|q' i - q i| <= D) ->
  (monotonic -> (forall i, q i <= q' i) \/ (forall i, q' i <= q i)) ->
  let a := eps / (Posz (selected_share monotonic c) * D)%:~R in
  within eps (noisy_selection a c q) (noisy_selection a c q').
Proof.
move=> e0 D0 c0 le mono a.
have s0 : 0 < Posz (selected_share monotonic c) * D.
  by rewrite mulr_gt0 // ltz_nat /selected_share; case: ifP; rewrite ?double_gt0.
have a0 : 0 < a by rewrite divr_gt0 ?ltr0z.
have up i : q' i - q i <= D by apply: le_trans (ler_norm _) (le i).
suff [t [w [w0 leD let_ lew]]] : exists t w : int,
    [/\ 0 <= w, Posz c * w <= Posz (selected_share monotonic c) * D,
    forall i, q' i - q i <= t & forall i, `|t - (q' i - q i)| <= w].
  apply: within_weaken (selection_aligned c a0 w0 let_ lew).
  exact: spent_share.
case: monotonic mono {a s0 a0} => [[//|ge|ge]|_].
- exists D, D; split=> // [|i]; first exact: ltW.
  by rewrite ger0_norm ?subr_ge0 // ler_subl_addl ler_addr subr_ge0.
- exists 0, D; split=> // [|i|i]; [exact: ltW | by rewrite subr_le0 |].
  by rewrite sub0r normrN.
exists D, (D + D); split=> // [||i]; first by rewrite addr_ge0 // ltW.
  by rewrite /selected_share -addnn PoszD mulrDl mulrDr.
by apply: le_trans (ler_norm_sub _ _) _; rewrite ler_add // ger0_norm // ltW.
Qed.

Theorem noisy_selection_is_private eps (D : int) monotonic touched c q (q' : {ffun I -> int}) :
  0 < eps -> 0 < D -> (0 < c)%N -> (if touched is Some m then 0 < m else true)%N ->
  score_neighbours D monotonic touched q q' ->
  let a := (noisy_scale eps D monotonic touched c)^-1 in
  within eps (noisy_selection a c q) (noisy_selection a c q').
Proof.
move=> e0 D0 c0 t0 [le card mono]; rewrite /= scaleV.
case: touched t0 card => [m m0 card|_ _] /=; last exact: share_private.
case: (leqP m (selected_share monotonic c)) => _.
  by apply: within_post; apply: touched_private.
exact: share_private.
Qed.

(** Report noisy max: the first of the selected, where one is selected. *)
Definition noisy_max a (i0 : I) q : {distr I / R} :=
  \dlet_(o <- noisy_selection a 1 q) dunit (head i0 o).

Lemma noisy_maxP (i0 : I) y u j : ahead y u (head i0 (top 1 y u)) j.
Proof.
have js : j \in sort (ahead y u) (enum I) by rewrite mem_sort mem_enum.
have := sort_sorted (@ahead_total _ y u) (enum I).
rewrite /top; case: (sort _ _) js => //= i s; rewrite ?take0 inE.
move=> /predU1P[->|js] p; first by have := ahead_total y u i i; rewrite orbb.
exact: (allP (order_path_min (@ahead_trans _ y u) p)).
Qed.

Lemma noisy_max_mass a (i0 : I) q : 0 < a -> psum (noisy_max a i0 q) = 1.
Proof.
by move=> a0; apply: dlet_mass_one => [|o]; [apply: noisy_selection_sums_to_one | apply: dunit_mass_one].
Qed.

Theorem report_noisy_max_is_private eps (D : int) monotonic touched (i0 : I) q (q' : {ffun I -> int}) :
  0 < eps -> 0 < D -> (if touched is Some m then 0 < m else true)%N ->
  score_neighbours D monotonic touched q q' ->
  let a := (noisy_scale eps D monotonic touched 1)^-1 in
  within eps (noisy_max a i0 q) (noisy_max a i0 q').
Proof.
by move=> e0 D0 t0 near; apply: within_post; apply: noisy_selection_is_private.
Qed.

End NoisySelection.
