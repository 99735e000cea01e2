(** * Where to shift to

    Answers move by whole numbers, and a shift t of rho must be found that lies near most of them.

    [median]: moves within [-D, D] have a t among them, or 0, whose distances to all of them add up to at
    most 2 D for every two of them.
    [best_shift]: k moves within [0, D], m others at D: if for every number h of moves at D, the rest at 0,
    one of the shifts 0 and D costs no more than M, then for all moves some shift does. (The costs are
    linear between whole moves; the proof goes from D to D + 1 and looks at the topmost step.)

    Nothing is exported from here. *)

From mathcomp Require Import all_ssreflect ssralg ssrnum ssrint.
From mathcomp.analysis Require Import reals.
From Sparsegate Require Import gap.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Lemma exists_lowest (T : choiceType) (f : T -> int) (l : seq T) : (0 < size l)%N ->
  exists2 y, y \in l & {in l, forall z, f y <= f z}.
Proof.
move=> some; have [y yl top] := exists_highest (fun z => - f z) some.
by exists y => // z /top; rewrite ler_opp2.
Qed.

Lemma median (T : choiceType) (f : T -> int) (D : nat) (l : seq T) :
  {in l, forall y, `|f y| <= D%:Z} ->
  exists2 t : int, `|t| <= D%:Z & \sum_(y <- l) `|t - f y| <= ((size l)./2.*2 * D)%:Z.
Proof.
move=> bound.
suff [t tl le] : exists2 t : int, (l == [::]) && (t == 0) || (t \in map f l) &
    \sum_(y <- l) `|t - f y| <= ((size l)./2.*2 * D)%:Z.
  exists t => //; case/orP: tl => [/andP[_ /eqP->]|/mapP[y /bound le_y ->]] //.
have [n] := ubnP (size l); elim: n l bound => // n IH [|x [|x' l0]] bound lt_n.
- by exists 0; rewrite ?eqxx // big_nil.
- by exists (f x); rewrite ?inE ?eqxx ?orbT // big_seq1 subrr normr0.
set l := x :: x' :: l0 in bound lt_n *.
have [b bl top] := @exists_highest _ f l isT.
have size_b : size (rem b l) = (size l0).+1 by rewrite size_rem.
have [|a al bottom] := @exists_lowest _ f (rem b l); first by rewrite size_b.
have size_a : size (rem a (rem b l)) = size l0 by rewrite size_rem // size_b.
have inl y : y \in rem a (rem b l) -> y \in l by move/mem_rem/mem_rem.
have sumE (t : int) : \sum_(y <- l) `|t - f y| =
    `|t - f b| + (`|t - f a| + \sum_(y <- rem a (rem b l)) `|t - f y|).
  rewrite (perm_big _ (perm_to_rem bl)) big_cons; congr (_ + _).
  by rewrite (perm_big _ (perm_to_rem al)) big_cons.
have sizeE : ((size l)./2.*2 * D)%N = (D + D + (size l0)./2.*2 * D)%N.
  by rewrite /= doubleS !mulSn addnA.
have between (t : int) : f a <= t <= f b -> `|t - f b| + `|t - f a| <= (D + D)%:Z.
  case/andP=> at_ tb; rewrite distrC !ger0_norm ?subr_ge0 // addrA subrK.
  have := bound b bl; have := bound a (mem_rem al); rewrite !ler_norml => /andP[lo _] /andP[_ hi].
  by rewrite PoszD ler_add // ler_oppl.
have [||t tl le] := IH (rem a (rem b l)).
- by move=> y /inl; apply: bound.
- by rewrite size_a; move: lt_n; rewrite /l /= ltnS => /ltnW.
rewrite size_a in le.
case/orP: tl => [/andP[/eqP nil _]|/mapP[y yl tE]].
  exists (f b); first by rewrite map_f ?orbT.
  rewrite sumE nil big_nil addr0 sizeE PoszD; apply: ler_paddr => //.
  by apply: between; rewrite lexx andbT; apply: top; apply: mem_rem al.
exists t; first by rewrite tE map_f ?orbT // inl.
rewrite sumE addrA sizeE PoszD; apply: ler_add le; apply: between; rewrite tE.
by rewrite bottom ?(mem_rem yl) // top // inl.
Qed.

Section BestShift.
Context {R : realType}.
Implicit Types (e r M : R) (m D t : nat) (v : seq nat).

Definition steps_apart (t x : nat) := ((t - x) + (x - t))%N.

Lemma best_shift e r M m D v :
  0 <= e -> 0 <= r -> all (fun x => x <= D)%N v ->
  (forall h, (h <= size v)%N ->
     Num.min ((m + h)%:R * r) (e + (size v - h)%:R * r) <= M) ->
  exists2 t, (t <= D)%N &
    e * t%:R + r * (m * (D - t) + \sum_(x <- v) steps_apart t x)%:R <= D%:R * M.
Proof.
move=> e0 r0; elim: D v => [|D IH] v v_le le_M.
  exists 0%N => //; rewrite muln0 add0n mulr0 add0r mul0r big_seq big1 ?mulr0 //= => x xv.
  by have := allP v_le x xv; rewrite leqn0 => /eqP->.
pose h := count (pred1 D.+1) v; have h_le : (h <= size v)%N by apply: count_size.
have := le_M h h_le; rewrite le_minl => /orP[low|high].
  have [||t t_le le_t] := IH [seq minn x D | x <- v].
  - by apply/allP => _ /mapP[x _ ->]; apply: geq_minr.
  - by move=> k; rewrite size_map; apply: le_M.
  exists t; first exact: leqW.
  have -> : (m * (D.+1 - t) + \sum_(x <- v) steps_apart t x =
      m * (D - t) + \sum_(x <- [seq minn x D | x <- v]) steps_apart t x + (m + h))%N.
    rewrite subSn // mulnS big_map -!addnA [LHS]addnCA; congr (_ + _)%N.
    rewrite addnCA; congr (_ + _)%N; rewrite /h -sum1_count [X in (_ + X)%N]big_mkcond -big_split /=.
    rewrite big_seq [RHS]big_seq; apply: eq_bigr => x /(allP v_le) x_le; rewrite /steps_apart.
    case: eqP => [->|/eqP ne]; last first.
      by rewrite addn0 (minn_idPl _) // -ltnS ltn_neqAle ne.
    have t0 : (t - D = 0)%N by apply/eqP; rewrite subn_eq0.
    have t1 : (t - D.+1 = 0)%N by apply/eqP; rewrite subn_eq0 leqW.
    by rewrite (minn_idPr _) // t0 t1 subSn // !add0n addn1.
  rewrite natrD mulrDr addrA mulrS mulrDl mul1r [leRHS]addrC; apply: ler_add le_t _.
  by rewrite mulrC.
exists D.+1 => //; rewrite subnn muln0 add0n.
apply: le_trans (_ : _ <= e * D.+1%:R + r * (D.+1 * (size v - h))%:R) _; last first.
  rewrite natrM [r * _]mulrCA [e * _]mulrC -mulrDr ler_wpmul2l ?ler0n //.
  by rewrite [r * _]mulrC.
rewrite ler_add2l ler_wpmul2l // ler_nat /h {high h h_le le_M IH}.
elim: v v_le => [|x v IHv] /=; first by rewrite big_nil.
case/andP=> x_le /IHv {IHv} le_v; rewrite big_cons /steps_apart.
have xD : (x - D.+1 = 0)%N by apply/eqP; rewrite subn_eq0.
rewrite xD addn0; case: eqP => [->|_]; first by rewrite subnn add0n add1n subSS.
rewrite add0n (subSn (count_size _ v)) mulnS; apply: leq_add le_v.
exact: leq_subr.
Qed.

End BestShift.
