(** * The candidates of a table whose items are private

    A table is a finite map [h] from labels to scores: what is not in it has the score 0. Labels are of
    any totally ordered type, finite or not.

    - [item]: a label, or a dummy: an item that nobody has.
    - [ranked h dbar]: the labels in the table and dbar + 1 dummies, largest score first, equal scores by
      label. (A label that is not in the table never appears. Dummies are never tied with a label that does.)
    - [candidates h dbar]: the first dbar of them; [following h dbar]: the score of the next one, h_(dbar+1).
    - [table_neighbours Delta m h h']: h' is h with one person more, who raises at most [m] scores, each by
      at most Delta.
    - [counts D]: the table of a list of baskets, one a person: how many have each label.

    Exported, for neighbours:
    - [baskets_are_neighbours]: [counts] of baskets without and with that of one person, who has at most
      m labels, are neighbours with Delta = 1.
    - [following_moves]: h_(dbar+1) rises by 0 to Delta.
    - [sides_are_few]: at most min(m, dbar) candidates of either table are no candidates of the other.
    - [sides_are_low]: on either side their scores are at most h_(dbar+1) + Delta. *)

From mathcomp Require Import all_ssreflect finmap.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory.
Local Open Scope fset_scope.
Local Open Scope nat_scope.

Section Candidates.
Context {d : unit} {T : orderType d}.

Definition item := (T + nat)%type.

Definition table := {fsfun T -> nat with 0}.

Implicit Types (h : table) (i j : item) (dbar : nat).

Definition score h i := if i is inl x then h x else 0.

Definition precedes i j :=
  match i, j with
  | inr k, inr l => k <= l
  | inr _, inl _ => true
  | inl _, inr _ => false
  | inl x, inl y => (x <= y)%O
  end.

Definition before h i j := (score h j < score h i) || ((score h i == score h j) && precedes i j).

Definition ranked h dbar : seq item :=
  sort (before h) ([seq inl x | x <- finsupp h] ++ [seq inr k | k <- iota 0 dbar.+1]).

Definition candidates h dbar : {fset item} := [fset i in take dbar (ranked h dbar)].

Definition next_item h dbar := nth (inr 0) (ranked h dbar) dbar.

Definition following h dbar := score h (next_item h dbar).

Lemma precedes_trans : transitive precedes.
Proof. by move=> [y|l] [x|k] [z|n] //=; [apply: le_trans | apply: leq_trans]. Qed.

Lemma precedes_total : total precedes.
Proof. by move=> [x|k] [y|l] //=; [apply: le_total | apply: leq_total]. Qed.

Lemma precedes_anti : antisymmetric precedes.
Proof.
move=> [x|k] [y|l] //=; first by move/le_anti=> ->.
by rewrite -eqn_leq => /eqP ->.
Qed.

Lemma before_total h : total (before h).
Proof.
move=> i j; rewrite /before; case: (ltngtP (score h i) (score h j)) => //= _; exact: precedes_total.
Qed.

Lemma before_trans h : transitive (before h).
Proof.
move=> j i k; rewrite /before => /orP[lt1|/andP[/eqP e1 p1]] /orP[lt2|/andP[/eqP e2 p2]].
- by rewrite (ltn_trans lt2 lt1).
- by rewrite -e2 lt1.
- by rewrite e1 lt2.
- by rewrite e1 e2 eqxx (precedes_trans p1 p2) orbT.
Qed.

Lemma before_score h i j : before h i j -> score h j <= score h i.
Proof. by case/orP=> [/ltnW|/andP[/eqP-> _]]. Qed.

Lemma before_anti h : antisymmetric (before h).
Proof.
move=> i j /andP[]; rewrite /before; case: ltngtP => //= _ p1 p2; by apply: precedes_anti; rewrite p1.
Qed.

Lemma ranked_uniq h dbar : uniq (ranked h dbar).
Proof.
rewrite sort_uniq cat_uniq !map_inj_uniq ?fset_uniq ?iota_uniq ?andbT; last 2 first.
- by move=> k l [].
- by move=> x y [].
by apply/hasPn => _ /mapP[k _ ->]; apply/mapP => -[].
Qed.

Lemma size_ranked h dbar : dbar < size (ranked h dbar).
Proof. by rewrite size_sort size_cat !size_map size_iota ltn_addl. Qed.

Lemma card_candidates h dbar : #|` candidates h dbar| = dbar.
Proof.
rewrite card_fseq undup_id ?take_uniq ?ranked_uniq // size_takel //; exact: ltnW (size_ranked _ _).
Qed.

Lemma next_item_out h dbar : next_item h dbar \notin candidates h dbar.
Proof.
rewrite inE /=; have := ranked_uniq h dbar; rewrite -{1}(cat_take_drop dbar (ranked h dbar)).
rewrite (drop_nth (inr 0) (size_ranked h dbar)) cat_uniq => /and3P[_ /hasPn out _].
by apply: out; rewrite mem_head.
Qed.

(** Those before the next one, and those after it. *)
Lemma candidate_before h dbar i : i \in candidates h dbar -> before h i (next_item h dbar).
Proof.
rewrite inE /= => iC; have := sort_sorted (before_total h)
  ([seq inl x | x <- finsupp h] ++ [seq inr k | k <- iota 0 dbar.+1]).
rewrite -/(ranked h dbar) (sorted_pairwise (@before_trans h)).
rewrite -{1}(cat_take_drop dbar (ranked h dbar)) pairwise_cat => /and3P[/allrelP + _ _].
by apply=> //; rewrite (drop_nth (inr 0) (size_ranked h dbar)) mem_head.
Qed.

Lemma outside_after h dbar j : j \notin candidates h dbar -> before h (next_item h dbar) j.
Proof.
have refl i : before h i i by have := before_total h i i; rewrite orbb.
have srt := sort_sorted (before_total h) ([seq inl x | x <- finsupp h] ++ [seq inr k | k <- iota 0 dbar.+1]).
have in_ranked : next_item h dbar \in ranked h dbar by apply/mem_nth/size_ranked.
case: (boolP (j \in ranked h dbar)) => [jin|jout] out.
  move: srt jin; rewrite -/(ranked h dbar) (sorted_pairwise (@before_trans h)).
  rewrite -{1 2}(cat_take_drop dbar (ranked h dbar)) pairwise_cat mem_cat => /and3P[_ _].
  have -> : j \in take dbar (ranked h dbar) = false by apply/negbTE; move: out; rewrite inE.
  rewrite (drop_nth (inr 0) (size_ranked h dbar)) /= inE => /andP[/allP after _] /orP[/eqP->|]; first exact: refl.
  exact: after.
have score_j : score h j = 0.
  case: j jout {out} => [y|//] /=; rewrite mem_sort mem_cat negb_or => /andP[/mapP yh _].
  by apply/eqP; apply/negPn; rewrite -mem_finsupp; apply/negP => yin; case: yh; exists y.
move: jout in_ranked; rewrite !mem_sort !mem_cat negb_or /before score_j.
case: (next_item h dbar) => [x|k].
  move=> _ /orP[/mapP[y yh [->]]|/mapP[]//]; by rewrite /= lt0n -mem_finsupp yh.
case: j {score_j out} => [//|l] /andP[_ jout] /orP[/mapP[]//|/mapP[k' k'in [->]]].
have l_big : l \notin iota 0 dbar.+1 by apply: contra jout => lin; apply/mapP; exists l.
move: l_big k'in; rewrite !mem_iota !add0n !ltnS -ltnNge => lt le.
exact: leq_trans le (ltnW lt).
Qed.

Lemma candidate_score h dbar i : i \in candidates h dbar -> following h dbar <= score h i.
Proof. by move/candidate_before/before_score. Qed.

Lemma outside_score h dbar j : j \notin candidates h dbar -> score h j <= following h dbar.
Proof. by move/outside_after/before_score. Qed.

(** As many leave as enter. *)
Lemma card_sides h h' dbar :
  #|` candidates h dbar `\` candidates h' dbar| = #|` candidates h' dbar `\` candidates h dbar|.
Proof.
apply/eqP; rewrite -(eqn_add2l #|` candidates h dbar `&` candidates h' dbar|) cardfsID.
by rewrite fsetIC cardfsID !card_candidates.
Qed.

Lemma other_side h h' dbar j : j \in candidates h' dbar `\` candidates h dbar ->
  exists2 i, i \in candidates h dbar & i \notin candidates h' dbar.
Proof.
move=> jin; have /fset0Pn[i] : candidates h dbar `\` candidates h' dbar != fset0.
  by rewrite -cardfs_gt0 card_sides cardfs_gt0; apply/fset0Pn; exists j.
by rewrite inE => /andP[i1 i2]; exists i.
Qed.

Definition table_neighbours Delta m h h' :=
  (forall x, h x <= h' x <= h x + Delta) /\
  exists2 P : {fset T}, #|` P| <= m & forall x, x \notin P -> h' x = h x.

Section Neighbours.
Variables (Delta m dbar : nat) (h h' : table).
Hypothesis near : table_neighbours Delta m h h'.

Lemma score_rises i : score h i <= score h' i <= score h i + Delta.
Proof. by case: near => rise _; case: i => [x|k] //=; apply: rise. Qed.

Theorem following_moves : following h dbar <= following h' dbar <= following h dbar + Delta.
Proof.
have rise i : score h i <= score h' i by case/andP: (score_rises i).
have rise_le i : score h' i <= score h i + Delta by case/andP: (score_rises i).
apply/andP; split.
  have out := next_item_out h dbar.
  case: (boolP (next_item h dbar \in candidates h' dbar)) => [zin|zout]; last first.
    exact: leq_trans (rise _) (outside_score zout).
  have [|i iC iC'] := @other_side h h' dbar (next_item h dbar); first by rewrite inE out zin.
  exact: leq_trans (candidate_score iC) (leq_trans (rise i) (outside_score iC')).
have out := next_item_out h' dbar.
case: (boolP (next_item h' dbar \in candidates h dbar)) => [zin|zout]; last first.
  by apply: leq_trans (rise_le _) _; rewrite leq_add2r outside_score.
have [|j jC' jC] := @other_side h' h dbar (next_item h' dbar); first by rewrite inE out zin.
apply: leq_trans (candidate_score jC') (leq_trans (rise_le j) _).
by rewrite leq_add2r outside_score.
Qed.

Theorem sides_are_low i :
  (i \in candidates h dbar `\` candidates h' dbar -> score h i <= following h dbar + Delta) /\
  (i \in candidates h' dbar `\` candidates h dbar -> score h' i <= following h' dbar + Delta).
Proof.
have /andP[rise rise_le] := score_rises i; have /andP[f_le f_ge] := following_moves.
split; rewrite inE => /andP[out _].
  exact: leq_trans rise (leq_trans (outside_score out) f_ge).
by apply: leq_trans rise_le _; rewrite leq_add2r (leq_trans (outside_score out)).
Qed.

(** Who does not change keeps the order to others who do not, and only falls behind those who do: with
    i leaving and j entering, i was before j, and j is before i now; that j rose is the only way. *)
Lemma entering_is_changed j : j \in candidates h' dbar `\` candidates h dbar ->
  exists2 x, j = inl x & h' x != h x.
Proof.
move=> jin; have [i iC iC'] := other_side jin; move: (jin); rewrite inE => /andP[jC jC'].
have ij : before h i j := before_trans (candidate_before iC) (outside_after jC).
have ji : before h' j i := before_trans (candidate_before jC') (outside_after iC').
have neq : i != j by apply: contraNneq iC' => ->.
have [e|ne] := eqVneq (score h' j) (score h j); last by case: j {jin jC jC' ij ji neq} ne => [x|k] //; exists x.
case/negP: neq; apply/eqP; have /andP[rise _] := score_rises i.
have := before_score ij; have := before_score ji; rewrite e => le1 le2.
have ei : score h i = score h j by apply/eqP; rewrite eqn_leq le2 (leq_trans rise le1).
have ei' : score h' i = score h' j by apply/eqP; rewrite eqn_leq e le1 (leq_trans le2 rise).
move: ij ji; rewrite /before ei ei' !ltnn !eqxx /= => p1 p2.
by apply: precedes_anti; rewrite p1.
Qed.

Lemma entering_are_few : #|` candidates h' dbar `\` candidates h dbar| <= minn m dbar.
Proof.
rewrite leq_min; apply/andP; split; last first.
  by rewrite -[leqRHS](card_candidates h' dbar); apply/fsubset_leq_card/fsubsetDl.
case: near => _ [P smallP same]; apply: leq_trans smallP.
pose touched : {fset item} := [fset inl x | x in P].
have <- : #|` touched| = #|` P| by rewrite card_imfset //= => x y [].
apply: fsubset_leq_card; apply/fsubsetP => j /entering_is_changed[x -> changed].
by apply/imfsetP; exists x => //=; apply: contraNT changed => /same ->.
Qed.

Theorem sides_are_few :
  #|` candidates h dbar `\` candidates h' dbar| <= minn m dbar /\
  #|` candidates h' dbar `\` candidates h dbar| <= minn m dbar.
Proof. by split; [rewrite card_sides|]; exact: entering_are_few. Qed.

End Neighbours.

Definition counts (D : seq {fset T}) : table :=
  [fsfun x in [fset x in flatten [seq enum_fset b | b <- D]] => count (fun b : {fset T} => x \in b) D].

Lemma countsE D x : counts D x = count (fun b : {fset T} => x \in b) D.
Proof.
rewrite fsfunE; case: ifP => // /negbT out; apply/esym/eqP; rewrite eqn0Ngt -has_count.
apply: contra out => /hasP[b bD xb]; rewrite inE /=.
by apply/flattenP; exists (enum_fset b) => //; exact: map_f.
Qed.

Theorem baskets_are_neighbours m D1 D2 (person : {fset T}) : #|` person| <= m ->
  table_neighbours 1 m (counts (D1 ++ D2)) (counts (D1 ++ person :: D2)).
Proof.
move=> small; split=> [x|].
  by rewrite !countsE !count_cat /= leq_add2l leq_addl /= addnCA addnC leq_add2l leq_b1.
by exists person => // x /negbTE out; rewrite !countsE !count_cat /= out add0n.
Qed.

End Candidates.
