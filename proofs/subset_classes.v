(** * Drawing a set by its class

    There are far too many sets of c out of d items to weigh each. Number the items 0, 1, ..., d - 1 by falling
    score, q(0) >= ... >= q(d - 1); the docstring of the code counts from 1. A class has one weight for all its sets:

    - [class x y], x < c <= y: the sets of c items whose first missing item is x and whose last item is y.
      It holds 0, ..., x - 1, not x, and y; the other c - x - 1 items are any of x + 1, ..., y - 1.
    - [places_below c]: the top c items 0, ..., c - 1, alone in their class.
    - [class_block k]: the class that k names: [Some (x, y)], or [None] for the top c.
    - [draw_class r]: k with probability proportional to the weight of its class, e^(r (q(c - 1) - q(c))) for the
      top c, C(y - x - 1, c - x - 1) e^(- r (q(x) - q(y))) for [class x y].
    - [member k]: a set of the class, its free items uniform among all choices.

    What is exported, for 0 < c < d:
    - [classes_partition]: every set of c items is in exactly one class, other sets are in none.
    - [class_count]: [class x y] has C(y - x - 1, c - x - 1) sets.
    - [class_loss], [top_loss]: their loss is q(x) - q(y), that of the top c is q(c) - q(c - 1).
    - [subset_by_class]: a class by its weight and then a member has the law of [subset_mechanism]. *)

From Sparsegate Require Import prelude.
(* Sets are finite here, and not those of the classical library. *)
From mathcomp Require Import finset.
From Sparsegate Require Import privacy sums programs exponential_mechanism subset.
Local Open Scope nat_scope.

Section Classes.
Variables (d c : nat).
Implicit Types (S U : {set 'I_d}) (x y i j : 'I_d).

Definition places_below n := [set i : 'I_d | i < n].

Definition between x y := [set i : 'I_d | x < i < y].

Definition class x y := [set S : {set 'I_d} |
  [&& #|S| == c, places_below x \subset S, x \notin S, y \in S & [forall i, (i \in S) ==> (i <= y)]]].

(** A member of the class, made of its free items. *)
Definition build x y U := y |: (places_below x :|: U).

Definition choices x y := [set U : {set 'I_d} | U \subset between x y & #|U| == c - x.+1].

Definition class_block (k : option ('I_d * 'I_d)) :=
  match k with
  | Some (x, y) => if x < c <= y then class x y else set0
  | None => [set places_below c]
  end.

Lemma below_card n : n <= d -> #|places_below n| = n.
Proof.
move=> le; rewrite -sum1_card (eq_bigl (fun i : 'I_d => i < n)) => [|i]; last by rewrite inE.
by rewrite -(big_ord_widen d (fun=> 1)) // sum1_card card_ord.
Qed.

Lemma between_card x y : x < y -> #|between x y| = y - x.+1.
Proof.
move=> lt; have -> : between x y = places_below y :\: places_below x.+1.
  by apply/setP=> i; rewrite !inE -leqNgt.
rewrite cardsD (setIidPr _) ?below_card ?(ltnW (ltn_ord _)) //.
by apply/subsetP=> i; rewrite !inE ltnS => /leq_ltn_trans; apply.
Qed.

Lemma build_card x y U : x < y -> U \subset between x y -> #|build x y U| = (x + #|U|).+1.
Proof.
move=> lt /subsetP sub; rewrite cardsU1 !inE ltnNge (ltnW lt) /=.
have -> : y \notin U by apply/negP => /sub; rewrite inE ltnn andbF.
rewrite add1n cardsU below_card ?(ltnW (ltn_ord _)) // (_ : places_below x :&: U = set0) ?cards0 ?subn0 //.
apply/setP=> i; rewrite !inE; apply/negP => /andP[ix /sub]; rewrite inE => /andP[xi _].
by have := ltn_trans ix xi; rewrite ltnn.
Qed.

Lemma buildK x y U : U \subset between x y -> build x y U :&: between x y = U.
Proof.
move=> /subsetP sub; apply/setP=> i; rewrite !inE; case: (boolP (i \in U)) => [iU|_].
  by move: (sub i iU); rewrite inE !orbT.
rewrite orbF; apply/negP => /andP[/orP[/eqP ->|ix] /andP[xi iy]]; first by rewrite ltnn in iy.
by have := ltn_trans ix xi; rewrite ltnn.
Qed.

Lemma class_build x y S : S \in class x y -> build x y (S :&: between x y) = S.
Proof.
rewrite inE => /and5P[_ /subsetP sub xS yS /forallP last_]; apply/setP=> i; rewrite !inE.
have [->|ne] := eqVneq i y; first by rewrite yS.
have [ix|xi|/val_inj ->] := ltngtP i x => /=.
- by rewrite sub // inE.
- by have [iS|] := boolP (i \in S) => //=; rewrite ltn_neqAle ne; apply: (implyP (last_ i)).
- by rewrite (negbTE xS).
Qed.

Lemma build_class x y U : x < c <= y -> U \in choices x y -> build x y U \in class x y.
Proof.
move=> /andP[xc cy]; rewrite inE => /andP[sub /eqP size_U]; have lt := leq_trans xc cy.
rewrite inE build_card // size_U -addSn subnKC // eqxx /=; move/subsetP: sub => sub.
apply/and4P; split.
- by apply/subsetP=> i ix; rewrite !inE; move: ix; rewrite inE => ->; rewrite orbT.
- rewrite !inE ltnn; apply/negP => /orP[/eqP e|/sub]; last by rewrite inE ltnn.
  by rewrite -e ltnn in lt.
- by rewrite !inE eqxx.
apply/forallP=> i; apply/implyP; rewrite !inE => /or3P[/eqP ->|ix|/sub] //.
  by rewrite ltnW // (ltn_trans ix).
by rewrite inE => /andP[_ /ltnW].
Qed.

Lemma class_choices x y : x < c <= y -> class x y = build x y @: choices x y.
Proof.
move=> xy; have lt : x < y by case/andP: xy => xc; apply: leq_trans.
apply/setP=> S; apply/idP/imsetP => [Sin|[U Uin ->]]; last exact: build_class.
exists (S :&: between x y); last by rewrite class_build.
rewrite inE subsetIr /=; have := build_card lt (subsetIr S (between x y)).
rewrite class_build //; move: (Sin); rewrite inE => /andP[/eqP -> _] ->.
by rewrite -addSn addKn.
Qed.

Lemma build_inj x y : {in choices x y &, injective (build x y)}.
Proof.
move=> U V; rewrite !inE => /andP[sU _] /andP[sV _] e.
by rewrite -(buildK sU) -(buildK sV) e.
Qed.

Theorem class_count x y : x < c <= y -> #|class x y| = 'C(y - x.+1, c - x.+1).
Proof.
move=> xy; rewrite class_choices // card_in_imset; last exact: build_inj.
by rewrite cards_draws between_card //; case/andP: xy => xc; apply: leq_trans.
Qed.

Lemma class_unique x y x' y' S : S \in class x y -> S \in class x' y' -> (x, y) = (x', y').
Proof.
rewrite !inE => /and5P[_ /subsetP b1 m1 i1 /forallP l1] /and5P[_ /subsetP b2 m2 i2 /forallP l2].
congr (_, _); apply: val_inj; apply/eqP; rewrite eqn_leq; last first.
  by rewrite (implyP (l2 y)) // (implyP (l1 y')).
apply/andP; split; rewrite leqNgt; apply/negP => lt.
  by move/negP: m2; apply; apply: b1; rewrite inE.
by move/negP: m1; apply; apply: b2; rewrite inE.
Qed.

Lemma block_size k S : 0 < c < d -> S \in class_block k -> #|S| = c.
Proof.
move=> /andP[_ /ltnW cd]; case: k => [[x y]|] /=; last by rewrite inE => /eqP ->; apply: below_card.
by case: ifP => _; rewrite inE // => /andP[/eqP].
Qed.

Lemma block_unique k k' S : S \in class_block k -> S \in class_block k' -> k = k'.
Proof.
have top x y : x < c -> places_below c \notin class x y.
  by move=> xc; rewrite inE; apply/negP => /and5P[_ _]; rewrite inE xc.
case: k k' => [[x y]|] [[x' y']|] //=; rewrite ?inE //.
- by do 2![case: ifP => _; rewrite ?in_set0 //] => S1 S2; congr Some; apply: class_unique S1 S2.
- by case: ifP => [/andP[xc _]|_]; rewrite ?in_set0 // => + /eqP e; rewrite e (negbTE (top _ _ xc)).
- by move=> /eqP ->; case: ifP => [/andP[xc _]|_]; rewrite ?in_set0 // (negbTE (top _ _ xc)).
Qed.

Lemma block_exists S : 0 < c < d -> #|S| = c -> exists k, S \in class_block k.
Proof.
move=> /andP[c0 cd] size_S.
have same : (places_below c \subset S) || (S \subset places_below c) -> S \in class_block None.
  rewrite inE => /orP[sub|sub]; last first.
    by rewrite eqEcard sub size_S below_card ?leqnn // ltnW.
  by rewrite eq_sym eqEcard sub size_S below_card ?leqnn // ltnW.
have [|] := boolP ((places_below c \subset S) || (S \subset places_below c)); first by exists None; apply: same.
rewrite negb_or => /andP[/subsetPn[x0 x0c x0S] /subsetPn[y0 y0S y0c]].
have [x xS x_min] := arg_minnP (fun i : 'I_d => i : nat) (x0S : (fun i => i \notin S) x0).
have [y yS y_max] := arg_maxnP (fun i : 'I_d => i : nat) (y0S : (fun i => i \in S) y0).
exists (Some (x, y)); rewrite /= (leq_ltn_trans (x_min _ x0S)); last by rewrite inE in x0c.
rewrite (leq_trans _ (y_max _ y0S)); last by rewrite inE -leqNgt in y0c.
rewrite inE size_S eqxx xS yS /= andbC; apply/andP; split.
  by apply/forallP=> i; apply/implyP=> /y_max.
by apply/subsetP=> i; rewrite inE; apply: contraLR => /x_min; rewrite -leqNgt.
Qed.

Theorem classes_partition S : 0 < c < d ->
  if #|S| == c then exists! k, S \in class_block k else forall k, S \notin class_block k.
Proof.
move=> cd; case: eqP => size_S; last by move=> k; apply/negP => /(block_size cd).
have [k Sk] := block_exists cd size_S; exists k; split=> // k' Sk'.
exact: block_unique Sk Sk'.
Qed.

End Classes.

Section Law.
Local Open Scope ring_scope.
Context {R : realType}.
Variables (d c : nat) (q : nat -> R).
Hypotheses (c_between : (0 < c < d)%N) (falling : forall i j : nat, (i <= j < d)%N -> q j <= q i).
Implicit Types (S U : {set 'I_d}) (x y i j : 'I_d) (k : option ('I_d * 'I_d)).

Let score i : R := q i.

Theorem class_loss x y S : S \in class c x y -> set_loss score S = q x - q y.
Proof.
rewrite inE => /and5P[_ /subsetP sub xS yS /forallP last_]; rewrite /set_loss.
rewrite (highest_is (i := x)) ?inE // => [|j].
  rewrite (lowest_is (i := y)) // => j jS; apply: falling.
  by rewrite ltn_ord (implyP (last_ j)).
rewrite inE => jS; apply: falling; rewrite ltn_ord andbT leqNgt; apply/negP => lt.
by move/negP: jS; apply; apply: sub; rewrite inE.
Qed.

Theorem top_loss : set_loss score (places_below d c) = q c - q c.-1.
Proof.
have /andP[c0 cd] := c_between; have c1d : (c.-1 < d)%N by rewrite (leq_trans _ (ltnW cd)) // prednK.
rewrite /set_loss (highest_is (i := Ordinal cd)) ?inE ?ltnn // => [|j].
  rewrite (lowest_is (i := Ordinal c1d)) ?inE /= ?prednK // => j; rewrite inE => jc.
  by apply: falling; rewrite /= c1d andbT -ltnS prednK.
by rewrite !inE -leqNgt => cj; apply: falling; rewrite cj ltn_ord.
Qed.

Variable r : R.

Definition class_weight k : R :=
  match k with
  | Some (x, y) => if (x < c <= y)%N then 'C(y - x.+1, c - x.+1)%:R * expR (- (r * (q x - q y))) else 0
  | None => expR (r * (q c.-1 - q c))
  end.

Definition draw_class : {distr (option ('I_d * 'I_d)) / R} := proportional class_weight.

Definition member k : {distr {set 'I_d} / R} :=
  if k is Some (x, y) then \dlet_(U <- duni (enum (choices c x y))) dunit (build x y U)
  else dunit (places_below d c).

Lemma class_weight_ge0 k : 0 <= class_weight k.
Proof.
case: k => [[x y]|] /=; last exact: ltW (expR_gt0 _).
by case: ifP => // _; rewrite mulr_ge0 ?ler0n // ltW ?expR_gt0.
Qed.

Let one S : R := expR (r * - set_loss score S).

(** All sets of a class weigh the same. *)
Lemma block_weight k S : S \in class_block c k -> class_weight k = #|class_block c k|%:R * one S.
Proof.
rewrite /one; case: k => [[x y]|] /=; last first.
  by rewrite inE => /eqP ->; rewrite cards1 mul1r top_loss opprB.
case: ifP => [xy S_in|_]; last by rewrite inE.
by rewrite class_count // (class_loss S_in) mulrN.
Qed.

(** The member is uniform in its class. *)
Lemma member_uniform x y S : (x < c <= y)%N ->
  member (Some (x, y)) S = (S \in class c x y)%:R / #|class c x y|%:R.
Proof.
move=> xy; rewrite /= dletE; set u := duni _.
have uE U : u U = (U \in choices c x y)%:R / #|class c x y|%:R.
  rewrite duni1E undup_id ?enum_uniq // mem_enum -cardE class_choices // card_in_imset //.
  exact: build_inj.
have [|S_out] := boolP (S \in class c x y).
  rewrite class_choices // => /imsetP[U U_in ->]; rewrite (psum_point (x := U)) => [|V ne].
    by rewrite ger0_norm ?mulr_ge0 // dunit1E eqxx mulr1 uE U_in class_choices.
  rewrite uE dunit1E; have [V_in|_] := boolP (V \in choices c x y); last by rewrite !mul0r.
  by case: eqP => [/(build_inj V_in U_in) e|_]; rewrite ?mulr0 // e eqxx in ne *.
rewrite mul0r psum_eq0 // => U; rewrite uE dunit1E.
have [U_in|_] := boolP (U \in choices c x y); last by rewrite !mul0r.
by case: eqP => [e|_]; rewrite ?mulr0 //; move: S_out; rewrite -e build_class.
Qed.

Lemma class_draw k S : class_weight k * member k S = (S \in class_block c k)%:R * one S.
Proof.
case: k => [[x y]|]; last first.
  rewrite /= dunit1E inE eq_sym mulrC; have [->|_] := eqVneq S (places_below d c); last by rewrite !mul0r.
  by rewrite /one top_loss opprB.
have [xy|xy] := boolP (x < c <= y)%N; last by rewrite /= (negbTE xy) inE !mul0r.
rewrite member_uniform //; have [S_in|S_out] := boolP (S \in class c x y); last first.
  by rewrite mul0r mulr0 /= xy (negbTE S_out) mul0r.
have S_block : S \in class_block c (Some (x, y)) by rewrite /= xy.
rewrite (block_weight S_block) S_block /= xy mul1r mulrAC divff ?mul1r //.
by rewrite pnatr_eq0 cards_eq0; apply/set0Pn; exists S.
Qed.

Lemma one_block S (w : R) : \sum_k (S \in class_block c k)%:R * w = if S \in sets_of c then w else 0.
Proof.
rewrite inE; have := classes_partition S c_between; case: eqP => [_ [k [S_in uni]]|_ none].
  rewrite (bigD1 k) //= S_in mul1r big1 ?addr0 // => k' ne.
  have [/uni e|_] := boolP (S \in class_block c k'); last by rewrite mul0r.
  by rewrite e eqxx in ne.
by rewrite big1 // => k _; rewrite (negbTE (none k)) mul0r.
Qed.

Lemma all_classes : \sum_k class_weight k = total_weight r (fun S => - set_loss score S) (sets_of c).
Proof.
rewrite /total_weight [RHS]big_mkcond /=; under [RHS]eq_bigr do rewrite -one_block.
rewrite exchange_big /=; apply: eq_bigr => k _.
rewrite (eq_bigr (fun S => if S \in class_block c k then one S else 0)); last first.
  by move=> S _; rewrite /one; case: (_ \in _); rewrite ?mul1r ?mul0r.
rewrite -big_mkcond /=; have [e|/set0Pn[S0 S0_in]] := eqVneq (class_block c k) set0.
  rewrite e big_set0; move: e; case: k => [[x y]|] /=; last first.
    by move/setP/(_ (places_below d c)); rewrite !inE eqxx.
  case: ifP => // xy /eqP; rewrite -cards_eq0 class_count // => /eqP ->.
  by rewrite mul0r.
have nz : #|class_block c k|%:R != 0 :> R by rewrite pnatr_eq0 cards_eq0; apply/set0Pn; exists S0.
have same S : S \in class_block c k -> one S = one S0.
  by move=> S_in; apply: (mulfI nz); rewrite -(block_weight S_in) -(block_weight S0_in).
by rewrite (block_weight S0_in) (eq_bigr _ same) sumr_const [LHS]mulr_natl.
Qed.

Theorem subset_by_class : \dlet_(k <- draw_class) member k =1 subset_mechanism r score c.
Proof.
move=> S; rewrite dletE psum_fin /subset_mechanism exponentialE.
rewrite (eq_bigr (fun k => (S \in class_block c k)%:R * (one S / \sum_h class_weight h))) => [|k _].
  by rewrite one_block all_classes.
rewrite ger0_norm ?mulr_ge0 // proportionalE; last exact: class_weight_ge0.
by rewrite mulrAC class_draw -mulrA.
Qed.

End Law.
