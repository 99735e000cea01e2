(** * Gates as the service keeps them

    What [service/gates.py] and the rows of [service/gate_store.py] hold of a gate, and what can happen to it.

    - A [spec] is the law of a gate: its epsilon, the loss L(m, k) of a transcript of m BELOW and k ABOVE, and when it
      is [through]. All that is asked of it: what is admitted costs at most epsilon, whatever the asks without an
      outcome come to, and taking an outcome back opens no gate. ledger_losses.v and ledger_gap_losses.v have
      those of the code, and so show that there are any.
    - An [ask] is a pair: the outcome that its row holds [now], and the outcome that it [ever] held. The second is what
      the outside may know: we let it see every outcome from its commit on, though the code lets it out later, if ever.
    - [worst_of col g]: the largest L over all ways to complete the asks that have no outcome; [gate_cost] is that of the
      rows, at most epsilon, and [unused] what the gate gives back, rounded down to twelve decimal places.
    - [intend_gate], [settle_gate], [void_gate], [close_gate]: [Tally.intend], [Tally.settle], [Tally.void] (in
      [GateStore.void], which may close the gate, too) and [GateStore.close].

    [loss_bounds_every_transcript]: a transcript that agrees with all that is known costs at most [worst_of ever].

    Beside the code: counters are counts of rows here, and rows are never removed (compaction keeps the counters). *)

From mathcomp Require Import all_ssreflect ssralg ssrnum ssrint rat intdiv.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Record spec := Spec {
  epsilon : rat;
  loss : nat -> nat -> rat;
  through : nat -> nat -> nat -> bool;  (* of the numbers of BELOW, ABOVE and unsettled *)
  epsilon_ge0 : 0 <= epsilon;
  loss_ge0 : forall m k, 0 <= loss m k;
  loss_start : loss 0 0 = 0;
  admitted_cost : forall below above lost i, ~~ through below above lost -> (i <= lost.+1)%N ->
    loss (below + i) (above + lost.+1 - i) <= epsilon;
  void_below : forall below above lost, through below.+1 above lost -> through below above lost.+1;
  void_above : forall below above lost, through below above.+1 lost -> through below above lost.+1 }.

Definition ask := (option bool * option bool)%type.
Definition now (a : ask) := a.1.
Definition ever (a : ask) := a.2.
Definition intended : ask := (None, None).

Definition outcomes (col : ask -> option bool) (o : option bool) (asks : seq ask) := count (fun a => col a == o) asks.
Definition belows col asks := outcomes col (Some false) asks.
Definition aboves col asks := outcomes col (Some true) asks.
Definition unsettled col asks := outcomes col None asks.

Record served_gate := Gate { law : spec; asks : seq ask; because : bool; refunds : bool }.

(** Why a gate is closed does not matter here: by hand or by a fault ([because]), or by its counters. *)
Definition closed g := because g ||
  through (law g) (belows now (asks g)) (aboves now (asks g)) (unsettled now (asks g)).

Definition largest (xs : seq rat) := foldr Num.max 0 xs.

(** The largest L over all ways to complete the asks that have no outcome. *)
Definition worst_loss sp b a u := largest [seq loss sp (b + i) (a + u - i) | i <- iota 0 u.+1].
Definition worst_of col g := worst_loss (law g) (belows col (asks g)) (aboves col (asks g)) (unsettled col (asks g)).

Definition gate_cost g := Num.min (worst_of now g) (epsilon (law g)).

Definition floor (x : rat) := (numq x %/ denq x)%Z.
Definition rounded_to (p x : rat) : rat := (floor (x * p))%:~R / p.
Definition rounded_down x := rounded_to (10%:R ^+ 12) x.
Definition unused g := rounded_down (epsilon (law g) - gate_cost g).

(** ** What happens to a gate *)

Definition intend_gate g :=
  if closed g then None else Some (Gate (law g) (rcons (asks g) intended) (because g) (refunds g)).
Definition set_ask g k a w := Gate (law g) (set_nth intended (asks g) k a) w (refunds g).
(** An ask is settled once. *)
Definition settle_gate k o g :=
  if (k < size (asks g))%N && (nth intended (asks g) k == intended) then Some (set_ask g k (Some o, Some o) (because g))
  else None.
(** The outcome is taken back: the row forgets it, whoever saw it does not. *)
Definition void_gate k why g :=
  if (k < size (asks g))%N then Some (set_ask g k (None, ever (nth intended (asks g) k)) (why || because g)) else None.
Definition close_gate g := Some (Gate (law g) (asks g) true (refunds g)).

(** ** Arithmetic *)

Lemma floor_le x : (floor x)%:~R <= x.
Proof.
have d_gt0 := denq_gt0 x; rewrite -[X in _ <= X]divq_num_den ler_pdivl_mulr ?ltr0z // -intrM ler_int.
by apply: lez_floor; rewrite gt_eqF.
Qed.

Lemma floor_ge0 x : 0 <= x -> 0 <= floor x.
Proof. by move=> x_ge0; rewrite lez_divRL ?denq_gt0 // mul0r numq_ge0. Qed.

Lemma rounded_to_le p x : 0 < p -> rounded_to p x <= x.
Proof. by move=> p_gt0; rewrite ler_pdivr_mulr // floor_le. Qed.

Lemma rounded_to_ge0 p x : 0 < p -> 0 <= x -> 0 <= rounded_to p x.
Proof.
move=> p_gt0 x_ge0; apply: divr_ge0; last exact: ltW.
by rewrite ler0z floor_ge0 // mulr_ge0 // ltW.
Qed.

Lemma rounded_down_le x : rounded_down x <= x.
Proof. by apply: rounded_to_le; apply: exprn_gt0; rewrite ltr0n. Qed.

Lemma rounded_down_ge0 x : 0 <= x -> 0 <= rounded_down x.
Proof. by apply: rounded_to_ge0; apply: exprn_gt0; rewrite ltr0n. Qed.

Lemma le_largest x xs : x \in xs -> x <= largest xs.
Proof.
elim: xs => //= y xs IH; rewrite in_cons le_maxr => /orP[/eqP-> | /IH ->]; first by rewrite lexx.
by rewrite orbT.
Qed.

Lemma largest_le y xs : 0 <= y -> (forall x, x \in xs -> x <= y) -> largest xs <= y.
Proof.
move=> y_ge0; elim: xs => //= x xs IH h; rewrite le_maxl h ?mem_head //=.
by apply: IH => z z_in; apply: h; rewrite in_cons z_in orbT.
Qed.

Lemma le_worst sp b a u i : (i <= u)%N -> loss sp (b + i) (a + u - i) <= worst_loss sp b a u.
Proof. by move=> le; apply: le_largest; apply/mapP; exists i => //; rewrite mem_iota. Qed.

Lemma worst_le sp b a u y : 0 <= y ->
  (forall i, (i <= u)%N -> loss sp (b + i) (a + u - i) <= y) -> worst_loss sp b a u <= y.
Proof. by move=> y_ge0 h; apply: largest_le => // x /mapP[i]; rewrite mem_iota => /andP[_ lt] ->; exact: h. Qed.

Lemma worst_ge0 sp b a u : 0 <= worst_loss sp b a u.
Proof. by apply: le_trans (le_worst sp b a (leq0n u)); apply: loss_ge0. Qed.

(** Who knows more outcomes has fewer completions. *)
Lemma worst_known sp b a u b' a' u' :
  (b <= b')%N -> (a <= a')%N -> (b + a + u = b' + a' + u')%N -> worst_loss sp b' a' u' <= worst_loss sp b a u.
Proof.
move=> /subnKC <- /subnKC <-; set d := (b' - b)%N; set e := (a' - a)%N => same.
have {same} -> : u = (d + (e + u'))%N.
  by apply/eqP; rewrite -(eqn_add2l (b + a)) same addnACA -!addnA.
apply: worst_le (worst_ge0 _ _ _ _) _ => i le_i.
have -> : (a + e + u' - i = a + (d + (e + u')) - (d + i))%N by rewrite addnCA subnDl addnA.
by rewrite -addnA; apply: le_worst; rewrite leq_add2l (leq_trans le_i) // leq_addl.
Qed.

(** ** Gates keep their promises *)

Lemma said_total col l : (belows col l + aboves col l + unsettled col l = size l)%N.
Proof.
elim: l => //= a l <-; rewrite /belows /aboves /unsettled /outcomes /=.
by case: (col a) => [[]|] /=; rewrite ?add0n ?add1n ?addSn ?addnS.
Qed.

(** What the rows hold, the outside may know. *)
Definition remembered (l : seq ask) := all (fun a => (now a == None) || (now a == ever a)) l.

Lemma said_remembered o l : remembered l -> (outcomes now (Some o) l <= outcomes ever (Some o) l)%N.
Proof.
elim: l => //= a l IH /andP[ok /IH]; apply: leq_add; case/orP: ok => /eqP-> //.
Qed.

Lemma worst_remembered g : remembered (asks g) -> worst_of ever g <= worst_of now g.
Proof.
by move=> ok; apply: worst_known; rewrite ?said_total // said_remembered.
Qed.

Lemma said_set col o l k a : (k < size l)%N ->
  outcomes col o (set_nth intended l k a) = (outcomes col o l + (col a == o) - (col (nth intended l k) == o))%N.
Proof. by move=> lt; rewrite /outcomes count_set_nth_ltn. Qed.

Lemma size_set (T : Type) (d : T) l k a : (k < size l)%N -> size (set_nth d l k a) = size l.
Proof. by move=> lt; rewrite size_set_nth; apply/maxn_idPr. Qed.

Lemma remembered_set l k a : (now a == None) || (now a == ever a) -> (k < size l)%N ->
  remembered l -> remembered (set_nth intended l k a).
Proof.
move=> ok lt /(all_nthP intended) h; apply/(all_nthP intended) => i; rewrite size_set // nth_set_nth /=.
by case: (i =P k) => // _ /h.
Qed.

(** An ask is admitted while any outcome of all that is open is paid for. *)
Lemma intend_covered g g' : intend_gate g = Some g' -> remembered (asks g) ->
  [/\ law g' = law g, remembered (asks g'), ~~ closed g & worst_of ever g' <= epsilon (law g)].
Proof.
rewrite /intend_gate; case open_: (closed g) => // -[<-] ok.
have ok' : remembered (rcons (asks g) intended) by rewrite /remembered all_rcons.
split=> //; apply: le_trans (@worst_remembered (Gate _ _ _ _) ok') _; apply: worst_le (epsilon_ge0 _) _ => i.
rewrite /= /belows /aboves /unsettled /outcomes -cats1 !count_cat /= !addn0 addn1 => le_i.
by apply: admitted_cost le_i; move: open_; rewrite /closed; case: through; rewrite ?orbT.
Qed.

Lemma settle_covered k o g g' : settle_gate k o g = Some g' -> remembered (asks g) ->
  [/\ law g' = law g, remembered (asks g') & worst_of ever g' <= worst_of ever g].
Proof.
rewrite /settle_gate; case: ifP => // /andP[lt /eqP is_open] [<-] ok.
split=> //=; first by apply: remembered_set => //=; rewrite eqxx orbT.
by apply: worst_known; rewrite /= ?said_total ?size_set // /belows /aboves said_set // is_open subn0 leq_addr.
Qed.

(** Taking an outcome back opens no gate. *)
Lemma void_covered k why g g' : void_gate k why g = Some g' -> remembered (asks g) ->
  [/\ law g' = law g, remembered (asks g'), worst_of ever g' = worst_of ever g, closed g -> closed g' &
    (because g -> because g') /\ refunds g' = refunds g].
Proof.
rewrite /void_gate; case: ifP => // lt [<-] ok; split=> //=.
- by apply: remembered_set.
- by rewrite /worst_of /= /belows /aboves /unsettled !said_set //= !addnK.
- rewrite /closed /= /belows /aboves /unsettled !said_set //=.
  case/orP=> [->|]; first by rewrite orbT.
  have pos o : now (nth intended (asks g) k) == o -> (0 < outcomes now o (asks g))%N.
    by move=> is_o; rewrite -has_count; apply/(has_nthP intended); exists k.
  case E: (now (nth intended (asks g) k)) => [[]|] /=; rewrite ?addn0 ?subn0 ?addn1 ?subn1.
  + case: outcomes (pos (Some true)) => [|a] pos_a; first by rewrite E eqxx in pos_a; have := pos_a isT.
    by move=> /void_above ->; rewrite orbT.
  + case: (outcomes now (Some false)) (pos (Some false)) => [|b] pos_b.
      by rewrite E eqxx in pos_b; have := pos_b isT.
    by move=> /void_below ->; rewrite orbT.
  + by move=> ->; rewrite orbT.
- by split=> // ->; rewrite orbT.
Qed.

(** What goes back is no more than what the charge exceeds the cost by. *)
Lemma unused_le g : remembered (asks g) -> worst_of ever g <= epsilon (law g) ->
  worst_of ever g + unused g <= epsilon (law g).
Proof.
move=> ok paid; rewrite -ler_subr_addl; apply: le_trans (rounded_down_le _) _.
by rewrite ler_sub // le_minr paid andbT worst_remembered.
Qed.

(** ** What the outside may know only grows *)

Definition known g := [seq ever a | a <- asks g].
Definition grown (l l' : seq (option bool)) := forall k o, nth None l k = Some o -> nth None l' k = Some o.

Lemma intend_grown g g' : intend_gate g = Some g' -> grown (known g) (known g').
Proof.
rewrite /intend_gate; case: ifP => // _ [<-] k o; rewrite /known /= map_rcons nth_rcons.
by case: ltnP => // ge; rewrite nth_default.
Qed.

Lemma settle_grown k o g g' : settle_gate k o g = Some g' -> grown (known g) (known g').
Proof.
rewrite /settle_gate; case: ifP => // /andP[lt /eqP is_open] [<-] j y; rewrite /known /=.
case: (ltnP j (size (asks g))) => [lt_j|ge]; last by rewrite nth_default // size_map.
rewrite !(nth_map intended) ?size_set // nth_set_nth /=.
by case: (j =P k) => // ->; rewrite is_open.
Qed.

Lemma void_known k why g g' : void_gate k why g = Some g' -> known g' = known g.
Proof.
rewrite /void_gate; case: ifP => // lt [<-]; rewrite /known /=.
apply: (@eq_from_nth _ None); rewrite !size_map size_set // => j lt_j.
by rewrite !(nth_map intended) ?size_set // nth_set_nth /=; case: (j =P k) => // ->.
Qed.

(** A transcript that agrees with what is known costs at most the worst completion. *)
Theorem loss_bounds_every_transcript g (t : seq bool) : size t = size (asks g) ->
  (forall k o, nth None (known g) k = Some o -> nth false t k = o) ->
  loss (law g) (count negb t) (count id t) <= worst_of ever g.
Proof.
move=> same agrees.
have fewer o : (outcomes ever (Some o) (asks g) <= count (pred1 o) t)%N.
  move: same agrees; rewrite /known; elim: (asks g) t => [|a l IH] [|b t] //= [same] agrees.
  apply: leq_add; last by apply: IH => // k; apply: (agrees k.+1).
  by case: (ever a) (agrees 0%N) => [c|//] /(_ c erefl) /= ->; case: (c); case: (o).
have total : (count negb t + count id t = size (asks g))%N by rewrite -same addnC count_predC.
have := @worst_known (law g) _ _ (unsettled ever (asks g)) _ _ 0 (fewer false) (fewer true).
rewrite said_total addn0; have -> : count (pred1 true) t = count id t by apply: eq_count => -[].
have -> : count (pred1 false) t = count negb t by apply: eq_count => -[].
rewrite total => /(_ erefl); apply: le_trans.
by have := le_worst (law g) (count negb t) (count id t) (leqnn 0); rewrite !addn0 subn0.
Qed.
