(** * The ledger decides, and all that leaves is private

    Gates side by side (side_by_side.v), where the machine of ledger.v decides what may be opened and asked. It is
    told of everything that happens, as [service/gate_store.py] tells the ledger.

    - [law p]: what the ledger knows of a gate with the public numbers [p]: its epsilon, its L(m, k), when it is
      through. [valid p]: whether such a gate may be opened. [refund p]: whether it gives back at its end.
    - [up a]: whether the answer [a] is ABOVE; with it may come more, such as a gap.
    - [heard s e]: an opening is charged; an answer is intended, then settled; a gate that is shut is closed, and gives
      back. [lost h]: the asks that were intended after [h] but never got an outcome, as after a crash; who was lost
      is decided from [h], not from the data.
    - [kept h]: the ledger after the history [h]. [decided act]: what [act] does, if the ledger admits it; it stops at
      what the ledger refuses.

    [ledger_admits_within_budget]: a history that was so decided has losses of at most B together.
    [ledger_decides_privately]: if e^(L(m, k)) bounds the likelihood ratio of m BELOW and k ABOVE of one gate, to any
    questions, and L grows, then the joint history is B-DP. [ledger_decides_a_whole_law]: it is a whole law.

    Beside the code: one ledger that is never restored (ledger_answers.v counts those that are), whose budget is not
    raised, with gates alone; a release is a gate of one question. What is refused ends the history here: whoever
    wants to go on with another action has it in [act]. *)

From mathcomp Require Import rat.
From Sparsegate Require Import prelude privacy gate transcripts side_by_side metered.
From Sparsegate Require ledger_gates ledger.
Local Open Scope ring_scope.

Module G := ledger_gates.
Module L := ledger.

Section Decided.
Context {R : realType} {P A S : choiceType}.
Notation history := (@history P A).
Notation action := (@action P).
Implicit Types (h t : history) (act : history -> action) (p : P) (s : L.ledger).
Implicit Types (f : P -> history -> S -> {distr A / R}).
Variables (mu : P -> {distr S / R}) (valid : pred P) (law : P -> G.spec) (refund : P -> bool) (up : A -> bool).
Variables (B : rat) (lost : history -> seq nat).

Definition asks_of s i := if L.paid_for (L.entry s i) is L.Holds g then size (G.asks g) else 0%N.

Definition heard s (e : @event P A) :=
  match e with
  | inl (inl p) => L.after s (L.OpenGate (law p) (refund p))
  | inl (inr (i, a)) => L.after (L.after s (L.Intend i)) (L.Settle i (asks_of s i) (up a))
  | inr i => L.after (L.after s (L.Close i)) (L.GiveBack i)
  end.

Definition losing s h := foldl (fun s i => L.after s (L.Intend i)) s (lost h).

Fixpoint told s h t := if t is e :: t' then told (heard (losing s h) e) (rcons h e) t' else s.
Definition kept h := losing (told (L.create B) [::] h) h.

Definition admits s (a : action) :=
  match a with
  | Open p => valid p && isSome (L.apply (L.OpenGate (law p) (refund p)) s)
  | Ask i => isSome (L.apply (L.Intend i) s)
  | _ => true
  end.

Definition decided_by act h := if admits (kept h) (act h) then act h else @Stop P.

Definition decided act f n := joint mu (decided_by act) f n [::] [::].

Definition loss_of p (s : seq A) : rat := G.loss (law p) (count (predC up) s) (count up s).

(** ** What single events do to the lines *)

Definition books s := [/\ L.sound s, L.restored s = 0%N, L.budget s = B & L.spent s <= B].

(** Entry [j] is a gate with this law, of which [b] BELOW and [a] ABOVE are known. *)
Definition line_holds s j sp b a := exists2 g, L.paid_for (L.entry s j) = L.Holds g &
  [/\ G.law g = sp, G.belows G.ever (G.asks g) = b & G.aboves G.ever (G.asks g) = a].

(** The events that happen here. *)
Definition usual (e : L.ledger_event) :=
  match e with L.OpenGate _ _ | L.Intend _ | L.Settle _ _ _ | L.Close _ | L.GiveBack _ => true | _ => false end.

Lemma at_gate_holds n stp s s' : L.at_gate n stp s = Some s' -> exists k x b g g',
  [/\ L.entry s n = L.Line k x b (L.Holds g), stp b g = Some g' & s' = L.put s n (L.Line k x b (L.Holds g'))].
Proof.
rewrite /L.at_gate; case: L.entry => k x b [|y|g] //=; case E: (stp b g) => [g'|] //= [<-].
by exists k, x, b, g, g'.
Qed.

Lemma give_back_holds n s s' : L.give_back n s = Some s' -> exists k x y g,
  L.entry s n = L.Line k x None (L.Holds g) /\ s' = L.put s n (L.Line k x (Some y) (L.Holds g)).
Proof.
rewrite /L.give_back; case: L.entry => k x [//|] [|y|g] //; case: ifP => // _ [<-].
by exists k, x, (G.unused g), g.
Qed.

Lemma budget_after s e : usual e -> L.budget (L.after s e) = L.budget s.
Proof.
rewrite /L.after; case E: (L.apply e s) => [s'|] //=; case: e E => //=.
- by move=> sp r; rewrite /L.open_gate /L.charge_line; case: ifP => // _ [<-].
- by move=> n /at_gate_holds[k [x [b [g [g' [_ _ ->]]]]]].
- by move=> n m o /at_gate_holds[k [x [b [g [g' [_ _ ->]]]]]].
- by move=> n /at_gate_holds[k [x [b [g [g' [_ _ ->]]]]]].
- by move=> n /give_back_holds[k [x [y [g [_ ->]]]]].
Qed.

Lemma books_after s e : usual e -> books s -> books (L.after s e).
Proof.
move=> q [ok re bu sp]; have [x st] := L.after_step e ok; have [_ keeps] := L.step_spent ok st.
have [[ok' re' _ _ _] _] := st; split=> //; rewrite ?re' ?budget_after //.
by rewrite -bu -(budget_after s q); apply: keeps; rewrite bu.
Qed.

Lemma put_size s n k x b g l : L.entry s n = L.Line k x b (L.Holds g) ->
  size (L.lines (L.put s n l)) = size (L.lines s).
Proof. by move=> E; apply: L.size_put; apply: L.entry_in; rewrite E. Qed.

(** What an event at a gate that makes nothing known leaves as it is. *)
Definition silent (e : L.ledger_event) := match e with L.Intend _ | L.Close _ | L.GiveBack _ => true | _ => false end.

Lemma put_holds s n k x b b' g g' j sp m a : L.entry s n = L.Line k x b (L.Holds g) -> G.law g' = G.law g ->
  (forall o, G.outcomes G.ever (Some o) (G.asks g') = G.outcomes G.ever (Some o) (G.asks g)) ->
  line_holds s j sp m a -> line_holds (L.put s n (L.Line k x b' (L.Holds g'))) j sp m a.
Proof.
move=> E same_law same [g0 Ej [law_g below_g above_g]]; rewrite /line_holds L.entry_put.
case: eqP => [jn|_]; last by exists g0.
move: Ej; rewrite jn E /= => -[gg0]; exists g' => //; rewrite same_law gg0; split=> //.
- by rewrite /G.belows same gg0.
- by rewrite /G.aboves same gg0.
Qed.

Lemma silent_holds s e : silent e ->
  size (L.lines (L.after s e)) = size (L.lines s) /\
  forall j sp m a, line_holds s j sp m a -> line_holds (L.after s e) j sp m a.
Proof.
rewrite /L.after; case E: (L.apply e s) => [s'|] //=; case: e E => //= n.
- case/at_gate_holds=> [k [x [b [g [g' [E int ->]]]]]] _; split; first exact: put_size E.
  move: int; rewrite /G.intend_gate; case: ifP => // _ [<-] j sp m a; apply: (put_holds _ E) => // o /=.
  by rewrite /G.outcomes -cats1 count_cat /= !addn0.
- case/at_gate_holds=> [k [x [b [g [g' [E [<-] ->]]]]]] _; split; first exact: put_size E.
  by move=> j sp m a; apply: (put_holds _ E).
case/give_back_holds=> [k [x [y [g [E ->]]]]] _; split; first exact: put_size E.
by move=> j sp m a; apply: (put_holds _ E).
Qed.

(** An answer that is admitted is settled: nothing went back yet, and its row is there. *)
Lemma settle_holds s i o : L.sound s -> L.restored s = 0%N -> isSome (L.apply (L.Intend i) s) ->
  let s' := L.after (L.after s (L.Intend i)) (L.Settle i (asks_of s i) o) in
  size (L.lines s') = size (L.lines s) /\
  forall j sp m a, line_holds s j sp m a -> line_holds s' j sp (m + (j == i) && ~~ o) (a + (j == i) && o).
Proof.
move=> ok re; rewrite /L.after; case E1: (L.apply (L.Intend i) s) => [s1|] //= _.
have [k [x [b [g [g1 [E int s1E]]]]]] := at_gate_holds E1.
have lt : (i < size (L.lines s))%N by apply: L.entry_in; rewrite E.
move: int; rewrite /G.intend_gate; case: ifP => // open_g [g1E].
have b0 : b = None.
  have := ok.2 i lt; rewrite /L.restored_after re ltn0 E => -[_ /= [_ _ _]].
  by case: (b) => // y /(_ y erefl) [_]; rewrite open_g.
rewrite /L.settle /L.at_gate s1E L.entry_put eqxx -g1E b0 /asks_of E /=.
rewrite /G.settle_gate /= size_rcons ltnSn nth_rcons ltnn eqxx /=.
split; first by rewrite /L.put /= !G.size_set // G.size_set.
move=> j sp m a [g0 Ej [law_g below_g above_g]]; rewrite /line_holds !L.entry_put.
case: eqP => [ji|_] /=; last by rewrite !addn0; exists g0.
move: Ej; rewrite ji E /= => -[gg0]; eexists; first by [].
rewrite -gg0 in law_g below_g above_g; split=> //=.
- rewrite /G.belows G.said_set ?size_rcons // nth_rcons ltnn eqxx /= subn0 -below_g /G.belows /G.outcomes -cats1 count_cat /=.
  by case: (o); rewrite /= ?addn0 ?subn0.
- rewrite /G.aboves G.said_set ?size_rcons // nth_rcons ltnn eqxx /= subn0 -above_g /G.aboves /G.outcomes -cats1 count_cat /=.
  by case: (o); rewrite /= ?addn0 ?subn0.
Qed.

(** ** The ledger mirrors the history *)

Definition mirrors s h := [/\ books s, size (L.lines s) = size (gates h),
  forall i, (size (gates h) <= i)%N -> answers i h = [::] &
  {in numbered (gates h), forall x, valid x.2 /\
    line_holds s x.1 (law x.2) (count (predC up) (answers x.1 h)) (count up (answers x.1 h))}].

Lemma mirrors_silent s e h : silent e -> mirrors s h -> mirrors (L.after s e) h.
Proof.
move=> quiet [bo size_s none ok]; have [size_e keeps] := silent_holds s quiet; split=> //.
- by apply: books_after bo; case: e quiet {size_e keeps}.
- by rewrite size_e.
by move=> x /ok[v hx]; split=> //; apply: keeps.
Qed.

Lemma mirrors_losing s h h' : mirrors s h -> mirrors (losing s h') h.
Proof. by rewrite /losing; elim: (lost h') s => //= i l IH s ok; apply: IH; apply: mirrors_silent. Qed.

Lemma mirrors_open s h p : admits s (Open p) -> mirrors s h -> mirrors (heard s (opened p)) (rcons h (opened p)).
Proof.
move=> /andP[valid_p some] [bo size_s none ok].
have same i : answers i (rcons h (opened p)) = answers i h by rewrite answers_rcons.
have bo' : books (heard s (opened p)) by apply: books_after bo.
move: bo' some; rewrite /= /L.after /= /L.open_gate /L.charge_line; case: ifP => // _ /= bo' _; split=> //=.
- by rewrite size_rcons gates_rcons size_rcons size_s.
- by move=> i; rewrite gates_rcons size_rcons same => /ltnW/none.
move=> x; rewrite gates_rcons numbered_rcons mem_cat inE same add0n => /orP[x_in|/eqP->] /=.
  have [v [g E hg]] := ok x x_in; split=> //; exists g => //.
  by rewrite /L.entry /= nth_rcons size_s (entry_size (numbered_entry x_in)).
split=> //; rewrite none //; eexists; first by rewrite /L.entry /= nth_rcons size_s ltnn eqxx.
by [].
Qed.

Lemma mirrors_ask s h i a : admits s (@Ask P i) -> (i < size (gates h))%N -> mirrors s h ->
  mirrors (heard s (said i a)) (rcons h (said i a)).
Proof.
move=> some lt [bo size_s none ok]; have [so re _ _] := bo.
have [size_e keeps] := settle_holds (up a) so re some; split.
- by do 2 apply: books_after => //.
- by rewrite size_e gates_rcons.
- move=> j; rewrite gates_rcons answers_rcons /= => le_j; case: eqP => [ij|_]; last exact: none.
  by rewrite -ij leqNgt lt in le_j.
move=> x; rewrite gates_rcons answers_rcons /= => x_in; have [v hx] := ok x x_in; split=> //.
have := keeps _ _ _ _ hx; rewrite eq_sym; case: (i == x.1) => /=; last by rewrite !addn0.
by rewrite -cats1 !count_cat /= !addn0.
Qed.

Lemma mirrors_close s h i : mirrors s h -> mirrors (heard s (shut i)) (rcons h (shut i)).
Proof.
move=> ok; have [bo size_s none held] : mirrors (heard s (shut i)) h by do 2 apply: mirrors_silent => //.
split=> //; first by rewrite gates_rcons.
  by move=> j; rewrite gates_rcons answers_rcons; apply: none.
by move=> x; rewrite gates_rcons answers_rcons; apply: held.
Qed.

Lemma kept_rcons h e : kept (rcons h e) = losing (heard (kept h) e) (rcons h e).
Proof.
rewrite /kept; congr (losing _ _); suff gen s h0 t : told s h0 (rcons t e) = heard (losing (told s h0 t) (h0 ++ t)) e.
  by rewrite gen.
by elim: t s h0 => [|e' t IH] s h0 /=; rewrite ?cats0 // IH cat_rcons.
Qed.

Lemma follows_mirrors act n h t :
  follows (decided_by act) n h (size (gates h)) t -> mirrors (kept h) h -> mirrors (kept (h ++ t)) (h ++ t).
Proof.
elim: n h t => [|n IH] h [|e t] //=; rewrite ?cats0 //.
have next e' : mirrors (heard (kept h) e') (rcons h e') ->
    follows (decided_by act) n (rcons h e') (size (gates (rcons h e'))) t ->
    mirrors (kept (h ++ e' :: t)) (h ++ e' :: t).
  by move=> ok; rewrite -cat_rcons => /IH; apply; rewrite kept_rcons; apply: mirrors_losing.
rewrite /decided_by; case ad: (admits (kept h) (act h)) => //.
case: (act h) ad => [//|p|i|i] ad.
- case/andP=> /eqP-> fo so; apply: next; first exact: mirrors_open.
  by rewrite gates_rcons size_rcons.
- case: e => [[//|[j a]]|//] /and3P[/eqP-> lt fo] so; apply: next; first exact: mirrors_ask.
  by rewrite gates_rcons.
case/andP=> /eqP-> fo so; apply: next; first exact: mirrors_close.
by rewrite gates_rcons.
Qed.

(** ** Privacy *)

Hypothesis B_ge0 : 0 <= B.
Hypothesis grows : forall p m k m' k', valid p -> (m <= m')%N -> (k <= k')%N ->
  G.loss (law p) m k <= G.loss (law p) m' k'.

Lemma mirrors_start : mirrors (kept [::]) [::].
Proof. by apply: mirrors_losing; split=> //; split=> //; rewrite /L.spent big_nil. Qed.

Theorem ledger_admits_within_budget act n t : follows (decided_by act) n [::] 0 t ->
  \sum_(x <- numbered (gates t)) loss_of x.2 (answers x.1 t) <= B.
Proof.
move=> fo; have [[so re _ sp] size_s _ ok] := follows_mirrors fo mirrors_start; apply: le_trans sp.
have := L.loss_le_net so; rewrite L.spent_split // /L.old re big_nil add0r; apply: le_trans.
rewrite /L.ledger_loss re size_s /index_iota subn0.
have <- : unzip1 (numbered (gates t)) = iota 0 (size (gates t)) by rewrite unzip1_zip // size_iota.
rewrite big_map big_seq [leRHS]big_seq; apply: ler_sum => x /ok[v [g E [law_g below_g above_g]]].
rewrite /L.loss_of_line E /G.worst_of law_g below_g above_g /loss_of.
apply: le_trans (G.le_worst _ _ _ (leq0n _)); rewrite addn0 subn0; apply: grows => //.
exact: leq_addr.
Qed.

Theorem ledger_decides_privately act f f' n :
  (forall p l, valid p -> likelihood (mu p) (f p) l <=
     expR (ratr (loss_of p [seq y.2 | y <- l])) * likelihood (mu p) (f' p) l) ->
  within (ratr B) (decided act f n) (decided act f' n).
Proof.
move=> ratio t; have [fo|nfo] := boolP (follows (decided_by act) n [::] 0 t); last first.
  by rewrite /decided !joint_is_product (negbTE nfo) !mul0r mulr0.
have [_ _ _ ok] := follows_mirrors fo mirrors_start.
apply: le_trans (_ : _ <= expR (\sum_(x <- numbered (gates t)) ratr (loss_of x.2 (answers x.1 t))) * _) _.
  by apply: losses_add => x x_in; have [v _] := ok x x_in; apply: ratio.
rewrite ler_wpmul2r // ler_expR -raddf_sum ler_rat.
exact: ledger_admits_within_budget fo.
Qed.

Theorem ledger_decides_a_whole_law act f n :
  (forall p, valid p -> psum (mu p) = 1) -> (forall p h x, valid p -> psum (f p h x) = 1) ->
  psum (decided act f n) = 1.
Proof.
apply: joint_sums_to_one => h p; rewrite /decided_by; case ad: admits => //.
by case: (act h) ad => // p' /andP[valid_p _] [<-].
Qed.

End Decided.
