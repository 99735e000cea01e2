(** * Peeling: c draws without replacement

    The exponential mechanism drawn c times, each time among the candidates that are left: what comes
    out is a sequence of c different candidates, in the order drawn.

    - [peel a q c A]: c rounds of [exponential a q] on the candidates [A].
    - [peel_groups a v c n]: the same where only groups are told apart: group g has [n g] candidates left,
      all of score [v g], and is drawn with probability proportional to n(g) e^(a v(g)).
    - [members gs A]: for each group of the sequence [gs] a candidate of it, uniform among those of [A] that
      are left.

    What is exported:
    - [peeling_sums_to_one]: where there are c candidates, c are drawn with probability one.
    - [peeling_selects]: exactly the sequences of c different candidates have a positive probability.
    - [peeling_is_private]: at rate eps / (2 c Delta), or eps / (c Delta) for monotonic scores, the sequence
      is eps-private, order included.
    - [grouped_peeling_is_peeling]: where equal scores form groups, drawing c groups first and then members
      of them has the law of [peel]: the code never looks at single candidates of a group.

    Not here: the code draws a peeled sequence as a race of exponential clocks, real numbers. That the race
    has the law of [peel_groups] (clocks have no memory) is not proved. *)

From Sparsegate Require Import prelude.
(* Sets are finite here, and not those of the classical library. *)
From mathcomp Require Import finset.
From Sparsegate Require Import privacy sums programs exponential_mechanism.
Local Open Scope ring_scope.

Section Sequences.
Context {R : realType} {T : choiceType}.
Implicit Types (mu : {distr T / R}) (f : T -> {distr (seq T) / R}).

(** Draw the head, then the tail given the head. *)
Definition dcons mu f : {distr (seq T) / R} := \dlet_(x <- mu) \dlet_(s <- f x) dunit (x :: s).

Lemma tail_cons (nu : {distr (seq T) / R}) y x s :
  (\dlet_(r <- nu) dunit (y :: r)) (x :: s) = (y == x)%:R * nu s.
Proof.
rewrite dletE (psum_point (x := s)) => [|r ne]; rewrite dunit1E eqseq_cons.
  by rewrite eqxx andbT ger0_norm ?mulr_ge0 ?ler0n // mulrC.
by rewrite (negbTE ne) andbF mulr0.
Qed.

Lemma dcons_cons mu f x s : dcons mu f (x :: s) = mu x * f x s.
Proof.
rewrite dletE (psum_point (x := x)) => [|y ne]; rewrite tail_cons ?(negbTE ne) ?mul0r ?mulr0 //.
by rewrite eqxx mul1r ger0_norm ?mulr_ge0.
Qed.

Lemma dcons_nil mu f : dcons mu f [::] = 0.
Proof.
rewrite dletE psum_eq0 // => x; rewrite dletE psum_eq0 ?mulr0 // => s.
by rewrite dunit1E mulr0.
Qed.

Lemma dcons_mass_one mu f :
  psum mu = 1 -> {in dinsupp mu, forall x, psum (f x) = 1} -> psum (dcons mu f) = 1.
Proof.
move=> mu1 f1; apply: dlet_mass_in => // x mu_x; apply: dlet_mass_one => [|s]; last exact: dunit_mass_one.
by apply: f1; rewrite in_dinsupp.
Qed.

Lemma within_dcons e1 e2 mu nu f g :
  within e1 mu nu -> (forall x, within e2 (f x) (g x)) ->
  within (e1 + e2) (dcons mu f) (dcons nu g).
Proof. by move=> h1 h2; apply: within_compose => // x; apply: within_post. Qed.

End Sequences.

Section Peeling.
Context {R : realType} {T : finType}.
Implicit Types (q : T -> R) (A : {set T}) (s : seq T).

Fixpoint peel a q (c : nat) A : {distr (seq T) / R} :=
  if c is c'.+1 then dcons (exponential a q A) (fun x => peel a q c' (A :\ x)) else dunit [::].

Lemma peel0 a q A s : peel a q 0 A s = (s == [::])%:R.
Proof. by rewrite /= dunit1E eq_sym. Qed.

Lemma peel_nil a q c A : peel a q c A [::] = (c == 0%N)%:R.
Proof. by case: c => [|c]; rewrite ?peel0 //= dcons_nil. Qed.

Lemma peel_cons a q c A x s : peel a q c.+1 A (x :: s) = exponential a q A x * peel a q c (A :\ x) s.
Proof. exact: dcons_cons. Qed.

Theorem peeling_selects a q c A s :
  (0 < peel a q c A s) = [&& size s == c, uniq s & all (mem A) s].
Proof.
elim: s c A => [|x s IH] [|c] A; rewrite ?peel_nil ?peel0 ?ltxx ?ltr01 //=.
rewrite -/(peel a q c.+1 A) peel_cons eqSS.
have [xA|xA] := boolP (x \in A); last first.
  by rewrite exponentialE (negbTE xA) mul0r ltxx !andbF.
rewrite pmulr_rgt0 ?exponential_gt0 // IH; congr (_ && _) => /=.
have -> : all (mem (A :\ x)) s = (x \notin s) && all (mem A) s.
  apply/allP/andP => [h|[xs /allP h] y ys]; last first.
    by rewrite !inE (memPn xs) //=; apply: h.
  split; first by apply/negP => /h; rewrite !inE eqxx.
  by apply/allP => y /h; rewrite !inE => /andP[].
by rewrite andbCA andbA.
Qed.

Theorem peeling_sums_to_one a q c A : (c <= #|A|)%N -> psum (peel a q c A) = 1.
Proof.
elim: c A => [|c IH] A le; first exact: dunit_mass_one.
apply: dcons_mass_one; first by apply: exponential_sums_to_one; rewrite -card_gt0; case: #|A| le.
move=> x /dinsuppP; rewrite exponentialE => x_in; have xA : x \in A by case: ifP x_in.
by apply: IH; move: le; rewrite (cardsD1 x) xA.
Qed.

Theorem peeling_is_private monotonic eps c Delta q q' A :
  (0 < c)%N -> 0 <= eps -> 0 < Delta -> scores_move monotonic Delta q q' ->
  within eps (peel (selection_rate eps c Delta monotonic) q c A)
             (peel (selection_rate eps c Delta monotonic) q' c A).
Proof.
move=> c0 e0 D0 h; set a := selection_rate _ _ _ _.
have rounds n B : within (eps / c%:R *+ n) (peel a q n B) (peel a q' n B).
  elim: n B => [|n IH] B; first by move=> s; rewrite mulr0n expR0 mul1r !peel0.
  rewrite mulrS; apply: within_dcons => // y.
  exact: exponential_round_is_private.
have := rounds c A; rewrite -[X in within X]mulr_natr mulfVK // pnatr_eq0.
by rewrite -lt0n.
Qed.

End Peeling.

Section Groups.
Context {R : realType} {T G : finType} (group : T -> G).
Implicit Types (v : G -> R) (n : G -> nat) (A : {set T}).

Definition group_weight a v n g : R := (n g)%:R * expR (a * v g).

Lemma group_weight_ge0 a v n g : 0 <= group_weight a v n g.
Proof. by rewrite mulr_ge0 ?ler0n // ltW ?expR_gt0. Qed.

Definition draw_group a v n : {distr G / R} := proportional (group_weight a v n).

Lemma draw_groupE a v n g : draw_group a v n g = group_weight a v n g / \sum_h group_weight a v n h.
Proof. by rewrite /draw_group proportionalE //; apply: group_weight_ge0. Qed.

(** One candidate fewer in group g. *)
Definition less n g h : nat := n h - (h == g).

Fixpoint peel_groups a v (c : nat) n : {distr (seq G) / R} :=
  if c is c'.+1 then dcons (draw_group a v n) (fun g => peel_groups a v c' (less n g)) else dunit [::].

Definition left_in A g := [set x in A | group x == g].

Fixpoint members (gs : seq G) A : {distr (seq T) / R} :=
  if gs is g :: gs' then dcons (duni (enum (left_in A g))) (fun x => members gs' (A :\ x)) else dunit [::].

Lemma peel_groups_cons a v c n g gs :
  peel_groups a v c.+1 n (g :: gs) = draw_group a v n g * peel_groups a v c (less n g) gs.
Proof. exact: dcons_cons. Qed.

Lemma members_cons g gs A x s :
  members (g :: gs) A (x :: s) = duni (enum (left_in A g)) x * members gs (A :\ x) s.
Proof. exact: dcons_cons. Qed.

Definition grouped_peel a v c A : {distr (seq T) / R} :=
  \dlet_(gs <- peel_groups a v c (fun g => #|left_in A g|)) members gs A.

Lemma members_groups gs A s : members gs A s != 0 -> gs = map group s.
Proof.
elim: gs A s => [|g gs IH] A [|x s] //=; rewrite ?dunit1E ?dcons_nil ?eqxx //.
rewrite dcons_cons mulf_eq0 negb_or => /andP[x_in /IH ->]; congr (_ :: _).
by move: x_in; rewrite duni1E mem_enum inE; case: (group x =P g) => [->|_] //; rewrite ?andbF ?mul0r ?eqxx.
Qed.

(** A group, then a member of it: the same as a candidate at once. *)
Lemma draw_group_member a v A x : x \in A ->
  draw_group a v (fun g => #|left_in A g|) (group x) / #|left_in A (group x)|%:R
  = exponential a (v \o group) A x.
Proof.
move=> xA; rewrite draw_groupE exponentialE xA /group_weight.
have nz : #|left_in A (group x)|%:R != 0 :> R.
  by rewrite pnatr_eq0 cards_eq0; apply/set0Pn; exists x; rewrite !inE xA /=.
rewrite mulrAC [_%:R * _]mulrC mulfK //; congr (_ / _).
rewrite /total_weight (partition_big group predT) //=; apply: eq_bigr => g _.
rewrite (eq_bigr (fun=> expR (a * v g))) => [|y /andP[_ /eqP <-]//].
rewrite big_const iter_addr addr0 mulr_natl; congr (_ *+ _).
by apply: eq_card => y; rewrite !inE.
Qed.

Theorem grouped_peeling_is_peeling a v c A :
  grouped_peel a v c A =1 peel a (v \o group) c A.
Proof.
move=> s; rewrite /grouped_peel dletE (psum_point (x := map group s)) => [|gs ne]; last first.
  have [->|/members_groups /eqP] := eqVneq (members gs A s) 0; first by rewrite mulr0.
  by rewrite (negbTE ne).
rewrite ger0_norm ?mulr_ge0 //; elim: s c A => [|x s IH] [|c] A.
- by rewrite /= !dunit1E !eqxx mulr1.
- by rewrite /= !dcons_nil mul0r.
- by rewrite /= !dunit1E mul0r.
rewrite [RHS]peel_cons map_cons peel_groups_cons members_cons mulrACA.
rewrite duni1E undup_id ?enum_uniq // mem_enum inE eqxx andbT -cardE.
have [xA|xA] := boolP (x \in A); last by rewrite mul0r mulr0 mul0r exponentialE (negbTE xA) mul0r.
rewrite mul1r draw_group_member // -IH; congr (_ * (_ * _)).
have -> // : less (fun g => #|left_in A g|) (group x) = fun g => #|left_in (A :\ x) g|.
apply: boolp.funext => g; rewrite /less [in RHS]/left_in.
rewrite (cardsD1 x (left_in A g)) !inE xA /= [g == _]eq_sym addKn.
by apply: eq_card => y; rewrite !inE andbA.
Qed.

End Groups.
