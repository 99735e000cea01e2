(** * Sums over countable sets

    [psum f] of the library is the sum of |f x| over all x, and 0 where that is infinite; every
    lemma says where it needs [summable].

    - [psum_swap]: two sums may change places. (The library has this statement without a proof,
      as [interchange_psum]; what rests on it there, [dlet_dlet] and [pr_dlet] among them, is an
      axiom to Coq. Use [psum_swap], and [programs.v] in their place.)
    - [psum_shift], [psum_mirror]: a sum over the integers may be shifted and mirrored.
    - [psum_le_shift]: if 0 <= u z <= k v (z + d) for all integers z, then sum u <= k sum v.
    - [psum_int]: a sum over the integers is the one over 0, 1, 2, ... and the one over -1, -2, ...
      [summable_int]: it is finite where those are.
    - [psum_geometric]: 1 + q + q^2 + ... = 1 / (1 - q) for 0 <= q < 1.
    - [psum_nat0], [psum_point]: the first term taken out; a sum with one term that is not zero. *)

From Sparsegate Require Import prelude.
Local Open Scope ring_scope.

Section Swap.
Context {R : realType} {T U : choiceType}.

(** Finitely many pairs lie in finitely many columns, and what they sum to is at most the sum over
    those columns: so the pairs are summable, and [psum_pair] and [psum_pair_swap] apply. *)
Lemma summable_pairs (S : T -> U -> R) :
  (forall x, summable (S x)) -> summable (fun x => psum (S x)) ->
  summable (fun p : T * U => S p.1 p.2).
Proof.
move=> sS sP; apply/summable_seqP; exists (psum (fun x => psum (S x))); first exact: ge0_psum.
move=> J uJ; pose K := undup (map fst J); pose L := undup (map snd J).
have le_rect : \sum_(p <- J) `|S p.1 p.2| <= \sum_(x <- K) \sum_(y <- L) `|S x y|.
  rewrite -(big_allpairs (F := fun p : T * U => `|S p.1 p.2|)).
  set A := [seq (x, y) | x <- K, y <- L]; rewrite [leRHS](bigID (mem J)) /=.
  have uA : uniq A by apply: allpairs_uniq; rewrite ?undup_uniq // => -[x y] [x' y'].
  rewrite -[X in X + _]big_filter [X in _ <= X + _](perm_big J) /=; first by rewrite ler_addl sumr_ge0.
  apply: uniq_perm => //; first exact: filter_uniq.
  move=> [x y]; rewrite mem_filter; case Jp : ((x, y) \in J) => //=; apply/allpairsP.
  by exists (x, y); rewrite !mem_undup; split=> //; apply/mapP; exists (x, y).
apply: le_trans le_rect _.
apply: le_trans (_ : \sum_(x <- K) `|psum (S x)| <= _).
  apply: ler_sum => x _; rewrite [leRHS]ger0_norm ?ge0_psum //.
  by apply: gerfinseq_psum => //; apply: undup_uniq.
by apply: gerfinseq_psum => //; apply: undup_uniq.
Qed.

Lemma psum_swap (S : T -> U -> R) :
  (forall x, summable (S x)) -> summable (fun x => psum (S x)) ->
  psum (fun x => psum (S x)) = psum (fun y => psum (fun x => S x y)).
Proof.
move=> sS sP; have sQ := summable_pairs sS sP.
by rewrite -(psum_pair sQ) (psum_pair_swap sQ).
Qed.

End Swap.

Section Integers.
Context {R : realType}.
Implicit Types (f u v : int -> R) (d : int) (k : R).

Lemma psum_shift f d : psum (fun z => f (z + d)) = psum f.
Proof.
rewrite [RHS](reindex_psum (P := predT) (h := fun z => z + d)) //.
by exists (fun z => z - d) => z _; rewrite ?addrK ?subrK.
Qed.

Lemma psum_mirror f : psum (fun z => f (- z)) = psum f.
Proof.
rewrite [RHS](reindex_psum (P := predT) (h := fun z => - z)) //.
by exists (fun z => - z) => z _; rewrite opprK.
Qed.

Lemma summable_reindex {T U : choiceType} (f : U -> R) (h : T -> U) :
  injective h -> summable f -> summable (fun x => f (h x)).
Proof.
move=> ih /summable_seqP[M M0 le]; apply/summable_seqP; exists M => // J uJ.
by rewrite -(big_map h xpredT (fun y => `|f y|)); apply: le; rewrite map_inj_uniq.
Qed.

Lemma summable_shift f d : summable f -> summable (fun z => f (z + d)).
Proof. by apply: summable_reindex => x y /addIr. Qed.

Lemma psum_le_shift u v d k :
  0 <= k -> (forall z, 0 <= u z) -> (forall z, u z <= k * v (z + d)) -> summable v ->
  psum u <= k * psum v.
Proof.
move=> k0 u0 le sv; rewrite -(psum_shift v d) -psumZ //.
apply: le_psum; last by apply/summableZ/summable_shift.
by move=> z; apply/andP; split; [exact: u0 | exact: le].
Qed.

Lemma psum_int f : summable f ->
  psum f = psum (fun n : nat => f n%:Z) + psum (fun n : nat => f (- n.+1%:Z)).
Proof.
move=> sf; rewrite (psumID (fun z : int => 0 <= z) sf); congr (_ + _).
  rewrite (reindex_psum_onto (P := fun z : int => 0 <= z) (h := fun n : nat => n%:Z)
     (h' := fun z => if z is Posz n then Some n else None)) //.
  - by apply: eq_psum => n /=; rewrite mul1r.
  - by move=> z; rewrite unfold_in; case: (0 <= z) => //; rewrite mul0r eqxx.
  - by case.
rewrite (reindex_psum_onto (P := fun z : int => z < 0) (h := fun n : nat => - n.+1%:Z)
     (h' := fun z => if z is Negz n then Some n else None)) //.
- by apply: eq_psum => n /=; rewrite mul1r.
- by move=> z; rewrite unfold_in -ltNge; case: (z < 0) => //; rewrite mul0r eqxx.
- by case=> // n _; rewrite /= NegzE.
Qed.

Lemma summable_int f :
  summable (fun n : nat => f n%:Z) -> summable (fun n : nat => f (- n.+1%:Z)) -> summable f.
Proof.
move=> /summable_seqP[M M0 leM] /summable_seqP[N N0 leN]; apply/summable_seqP.
exists (M + N) => [|J uJ]; first exact: addr_ge0.
pose up := [seq absz z | z <- J & 0 <= z]; pose down := [seq (absz z).-1 | z <- J & ~~ (0 <= z)].
have uu : uniq up.
  rewrite map_inj_in_uniq ?filter_uniq // => -[m|m] [n|n]; rewrite !mem_filter //.
  by move=> _ _ /= ->.
have ud : uniq down.
  rewrite map_inj_in_uniq ?filter_uniq // => -[m|m] [n|n]; rewrite !mem_filter //.
  by move=> _ _ /= ->.
apply: le_trans (ler_add (leM _ uu) (leN _ ud)).
rewrite (bigID (fun z : int => 0 <= z)) /=; apply: ler_add.
  rewrite big_map big_filter; apply: ler_sum => -[n|n] //.
by rewrite big_map big_filter; apply: ler_sum => -[n|n] // _; rewrite NegzE.
Qed.

End Integers.

Section Naturals.
Context {R : realType}.
Implicit Types (f : nat -> R) (q M : R).

Lemma psum_point {T : choiceType} (f : T -> R) x : (forall y, y != x -> f y = 0) -> psum f = `|f x|.
Proof.
move=> f0; rewrite (psum_finseq (r := [:: x])) // ?big_seq1 // => y.
by rewrite !inE; apply: contraNT => /f0 ->.
Qed.

Lemma psum_nat0 f : summable f -> psum f = `|f 0%N| + psum (fun n => f n.+1).
Proof.
move=> sf; rewrite (psumID (pred1 0%N) sf) (psum_point (x := 0%N)); last first.
  by move=> n n0; rewrite /= (negbTE n0) mul0r.
rewrite /= mul1r; congr (_ + _).
rewrite (reindex_psum (P := (fun n => (0 < n)%N)) (h := succn)).
- by apply: eq_psum => n /=; rewrite mul1r.
- by case=> //=; rewrite mul0r eqxx.
- by exists predn => // n n0; rewrite prednK.
Qed.

Lemma summable_nat f M : (forall n, 0 <= f n) -> (forall n, \sum_(i < n) f i <= M) -> summable f.
Proof.
move=> f0 le; apply/summable_seqP; exists M => [|J uJ]; first by have := le 0%N; rewrite big_ord0.
pose n := (\max_(j <- J) j).+1; apply: le_trans (le n).
rewrite (eq_bigr f) => [|i _]; last by rewrite ger0_norm.
rewrite -(big_mkord xpredT f) [leRHS](bigID (mem J)) /= -[X in _ <= X + _]big_filter.
rewrite [X in _ <= X + _](perm_big J); first by rewrite ler_addl sumr_ge0.
apply: uniq_perm; rewrite ?filter_uniq ?iota_uniq //.
move=> j; rewrite mem_filter mem_index_iota; case Jj : (j \in J) => //=.
by rewrite ltnS; apply: (leq_bigmax_seq j Jj).
Qed.

Lemma summable_geometric q : 0 <= q < 1 -> summable (fun n : nat => q ^+ n).
Proof.
move=> /andP[q0 q1]; have p0 : 0 < 1 - q by rewrite subr_gt0.
apply: (@summable_nat _ (1 - q)^-1) => n; first exact: exprn_ge0.
rewrite -[leRHS]mul1r ler_pdivl_mulr // mulrC -opprB mulNr -subrX1 opprB.
by rewrite ger_addl oppr_le0 exprn_ge0.
Qed.

Lemma psum_geometric q : 0 <= q < 1 -> psum (fun n : nat => q ^+ n) = (1 - q)^-1.
Proof.
move=> q01; have sg := summable_geometric q01; have /andP[q0 q1] := q01.
have := psum_nat0 sg; rewrite expr0 normr1.
have -> : psum (fun n : nat => q ^+ n.+1) = psum (q \*o (fun n : nat => q ^+ n)).
  by apply: eq_psum => n; rewrite /= exprS.
rewrite psumZ // => /eqP; rewrite -subr_eq -{1}[psum _]mul1r -mulrBl => /eqP eq1.
have p0 : 1 - q != 0 by rewrite subr_eq0 gt_eqF.
by apply: (mulfI p0); rewrite eq1 divff.
Qed.

End Naturals.

Section FromMass.
Context {R : realType} {T : choiceType}.

(** A law may be given by its mass: non-negative, summable, with a sum of at most one. *)
Lemma mkdistrdE (f : T -> R) :
  (forall x, 0 <= f x) -> summable f -> psum f <= 1 -> mkdistrd f =1 f.
Proof.
move=> f0 sf f1; have df : isdistr f.
  split=> // J uJ; apply: le_trans f1; apply: le_trans (gerfinseq_psum uJ sf).
  by apply: ler_sum => x _; apply: ler_norm.
move=> x; rewrite /mkdistrd; move: (@idP `[< isdistr f >]).
by move: {2}`[< isdistr f >] => b; case=> [Px|nP] //; case: nP; apply/asboolP.
Qed.

End FromMass.
