(** * What a gate gives back

    Of the states of ledger.v, after any list of events:

    - [refund_is_unused]: what goes back is at most the charge less the loss of all that has left;
    - [refunded_gate_is_silent]: a gate that gave back gives nothing back again, is closed, and the outside learns
      nothing more from it, whatever happens afterwards;
    - [unguarded_settle_undercounts]: without the guard of [settle], which refuses an outcome to a gate that gave back,
      there is a list of events after which epsilon 1 is used and 1/2 is counted. *)

From mathcomp Require Import all_ssreflect ssralg ssrnum ssrint rat intdiv.
From Sparsegate Require Import ledger_gates ledger ledger_losses.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** What went back was reserved, and realised by nothing that has left. *)
Theorem refund_is_unused b es n s' : give_back n (run_ledger (create b) es) = Some s' ->
  exists g x, [/\ paid_for (entry (run_ledger (create b) es) n) = Holds g, back (entry s' n) = Some x, 0 < x &
    x <= amount (entry s' n) - worst_of ever g].
Proof.
have s_ok := run_sound es (create_sound b); set s := run_ledger _ _ in s_ok *.
rewrite /give_back; case E: (entry s n) => [k x [//|] [|y|g]] //.
case: ifP => // /and4P[_ _ fresh some] [<-]; exists g, (unused g).
have lt : (n < size (lines s))%N by apply: entry_in; rewrite E.
have := s_ok.2 n lt; rewrite (negbTE fresh) E => -[/= x_ge0 [ok le paid _]].
by rewrite entry_put eqxx; split=> //=; rewrite ler_subr_addl (le_trans _ le) ?unused_le.
Qed.

Lemma apply_later e s s' n k x b g : sound s -> apply e s = Some s' -> entry s n = Line k x b (Holds g) ->
  exists b' g', [/\ entry s' n = Line k x b' (Holds g'), grown (known g) (known g') &
    forall y, b = Some y -> b' = b /\ known g' = known g].
Proof.
move=> s_ok E at_n; have lt : (n < size (lines s))%N by apply: entry_in; rewrite at_n.
have is_closed y : b = Some y -> closed g.
  have := s_ok.2 n lt; rewrite at_n; case: ifP => _; first by case/and3P=> bec _ _ _; rewrite /closed bec.
  by case=> _ /= [_ _ _ back_ok] /back_ok[].
have stays : exists b' g', [/\ entry s n = Line k x b' (Holds g'), grown (known g) (known g') &
    forall y, b = Some y -> b' = b /\ known g' = known g] by exists b, g; split.
have appended K X U : charge_line K X U s = Some s' -> entry s' n = entry s n.
  by rewrite /charge_line; case: ifP => // _ [<-]; rewrite /entry /= nth_rcons lt.
have began m u y : begin_release m u y s = Some s' -> entry s' n = entry s n.
  rewrite /begin_release; case F: (entry s m) => [[] ? [//|] [|//|//]] //; case: ifP => // _ [<-].
  by rewrite entry_put; case: (n =P m) => // eq_nm; move: at_n; rewrite eq_nm F.
have gate_event m f : at_gate m f s = Some s' -> (forall g', f b g = Some g' -> grown (known g) (known g') /\
    forall y, b = Some y -> known g' = known g) -> exists b' g', [/\ entry s' n = Line k x b' (Holds g'),
    grown (known g) (known g') & forall y, b = Some y -> b' = b /\ known g' = known g].
  rewrite /at_gate; case F: (entry s m) => [? ? ? [|?|h]] //; case G: f => [h'|] //= [<-] keeps.
  rewrite entry_put; case: (n =P m) => // eq_nm; move: F; rewrite -eq_nm at_n => -[? ? ? ?]; subst.
  by have [? same] := keeps _ G; eexists; exists h'; split=> // y /same.
move: E; case: e => [X|X|sp r|m X|m sp r|m|m j o|m j w|m|m|X] /= E.
- by rewrite (appended _ _ _ E).
- by rewrite (appended _ _ _ E).
- by rewrite (appended _ _ _ E).
- by rewrite (began _ _ _ E).
- by rewrite (began _ _ _ E).
- apply: gate_event E _ => g' int; split; first exact: intend_grown int.
  by move=> y /is_closed shut; move: int; rewrite /intend_gate shut.
- by apply: gate_event E _ => g'; case: (b) => // set_; split=> //; apply: settle_grown set_.
- by apply: gate_event E _ => g' v; rewrite (void_known v); split=> [? ?|].
- by apply: gate_event E _ => g' [<-]; split=> [? ?|].
- move: E; rewrite /give_back; case F: (entry s m) => [? ? [//|] [|?|h]] //; case: ifP => // _ [<-].
  rewrite entry_put; case: (n =P m) => // eq_nm; move: F; rewrite -eq_nm at_n => -[? ? ? ?]; subst.
  by exists (Some (unused h)), h; split.
- by move: E; rewrite /raise_budget; case: ifP => // _ [<-].
Qed.

Lemma refunded_is_closed s n k x y g : sound s -> entry s n = Line k x (Some y) (Holds g) -> closed g.
Proof.
move=> s_ok at_n; have lt : (n < size (lines s))%N by apply: entry_in; rewrite at_n.
have := s_ok.2 n lt; rewrite at_n; case: ifP => _; first by case/and3P=> bec _ _; rewrite /closed bec.
by case=> _ /= [_ _ _ /(_ y erefl) []].
Qed.

Lemma run_later s es n k x y g : sound s -> entry s n = Line k x (Some y) (Holds g) -> closed g ->
  exists g', [/\ entry (run_ledger s es) n = Line k x (Some y) (Holds g'), known g' = known g & closed g'].
Proof.
elim: es s g => [|e es IH] s g s_ok at_n shut /=; first by exists g.
have [z [[s'_ok _ _ _ _] _]] := after_step e s_ok; move: s'_ok; rewrite /after.
case E: (apply e s) => [s'|] /= s'_ok; last exact: IH at_n shut.
have [b' [g1 [at_n' _ /(_ y erefl) [eq_b same]]]] := apply_later s_ok E at_n; rewrite eq_b in at_n'.
have shut1 : closed g1 := refunded_is_closed s'_ok at_n'.
by have [g' [? ? ?]] := IH _ _ s'_ok at_n' shut1; exists g'; split=> //; rewrite -same.
Qed.

Theorem refunded_gate_is_silent b es es' n k x y g :
  entry (run_ledger (create b) es) n = Line k x (Some y) (Holds g) ->
  exists g', [/\ entry (run_ledger (create b) (es ++ es')) n = Line k x (Some y) (Holds g'), known g' = known g & closed g'].
Proof.
move=> at_n; rewrite /run_ledger foldl_cat -!/(run_ledger _ _); have s_ok := run_sound es (create_sound b).
exact: run_later (s_ok) (at_n) (refunded_is_closed s_ok at_n).
Qed.

(** ** Why the guard of [settle] is needed

    A gate looks through while the ask that could be its last is under way. Let whoever looks then give back, and let
    the outcome be written all the same: a BELOW opens the gate again. Epsilon 1 is used, and 1/2 is counted. *)

Definition unsafe_apply e s := if e is Settle n k o then at_gate n (fun _ => settle_gate k o) s else apply e s.
Definition unsafe_run s es := foldl (fun s e => odflt s (unsafe_apply e s)) s es.

Definition half : rat := 2%:R^-1.
Lemma half_ge0 : 0 <= half. Proof. by []. Qed.
Definition watched := laplace_monotonic_gate 1 None half_ge0 half_ge0.

Lemma floor_int (z : int) : floor z%:~R = z.
Proof. by rewrite /floor numq_int denq_int divz1. Qed.

Lemma rounded_to_whole p x (z : int) : p != 0 -> x * p = z%:~R -> rounded_to p x = x.
Proof. by move=> p_neq0 whole; rewrite /rounded_to whole floor_int -whole mulfK. Qed.

Lemma rounded_to_half n : rounded_to (10%:R ^+ n.+1) half = half.
Proof.
apply: (@rounded_to_whole _ _ (5%:Z * 10%:Z ^+ n)); first by rewrite expf_neq0.
have ten : half * 10%:R = 5%:R by [].
by rewrite exprS mulrA ten rmorphM rmorphX.
Qed.

Lemma unused_lost : unused (Gate watched [:: intended] false true) = half.
Proof.
rewrite /unused; have -> : epsilon watched - gate_cost (Gate watched [:: intended] false true) = half by apply/eqP.
exact: rounded_to_half.
Qed.

Definition one g b := Ledger 1 [:: Line SPEND (epsilon watched) b (Holds g)] 0.
Definition with_asks asks := Gate watched asks false true.

Lemma unsafe_open : unsafe_apply (OpenGate watched true) (create 1) = Some (one (with_asks [::]) None).
Proof. by rewrite /= /open_gate /charge_line /spent big_nil. Qed.

Lemma unsafe_intend l b : ~~ closed (with_asks l) ->
  unsafe_apply (Intend 0) (one (with_asks l) b) = Some (one (with_asks (rcons l intended)) b).
Proof. by rewrite /= /intend /at_gate /= /intend_gate => /negbTE ->. Qed.

Lemma unsafe_settled l k o b : (k < size l)%N -> nth intended l k = intended ->
  unsafe_apply (Settle 0 k o) (one (with_asks l) b) = Some (one (with_asks (set_nth intended l k (Some o, Some o))) b).
Proof. by move=> lt is_open; rewrite /= /at_gate /= /settle_gate /= lt is_open eqxx. Qed.

Lemma give_back_one g : closed g -> refunds g -> 0 < unused g ->
  give_back 0 (one g None) = Some (one g (Some (unused g))).
Proof.
move=> shut ref some; rewrite /give_back; have -> : entry (one g None) 0 = Line SPEND (epsilon watched) None (Holds g).
  by [].
by rewrite shut ref some.
Qed.

Lemma unsafe_look : unsafe_apply (GiveBack 0) (one (with_asks [:: intended]) None) =
  Some (one (with_asks [:: intended]) (Some half)).
Proof. by rewrite -[in RHS]unused_lost; apply: give_back_one => [//|//|]; rewrite unused_lost. Qed.

Definition attack := [:: OpenGate watched true; Intend 0; GiveBack 0; Settle 0 0 false;
  Intend 0; Settle 0 1 false; Intend 0; Settle 0 2 true].

Lemma unsafe_step e s s' es : unsafe_apply e s = Some s' -> unsafe_run s (e :: es) = unsafe_run s' es.
Proof. by move=> E; rewrite /unsafe_run [foldl _ s _]/= E. Qed.

Lemma attack_ends : unsafe_run (create 1) attack =
  one (with_asks [:: (Some false, Some false); (Some false, Some false); (Some true, Some true)]) (Some half).
Proof.
pose no : ask := (Some false, Some false).
rewrite (unsafe_step _ unsafe_open).
rewrite (unsafe_step _ (@unsafe_intend [::] None isT)) (unsafe_step _ unsafe_look).
rewrite (unsafe_step _ (@unsafe_settled [:: intended] 0 false (Some half) isT erefl)).
rewrite (unsafe_step _ (@unsafe_intend [:: no] (Some half) isT)).
rewrite (unsafe_step _ (@unsafe_settled [:: no; intended] 1 false (Some half) isT erefl)).
rewrite (unsafe_step _ (@unsafe_intend [:: no; no] (Some half) isT)).
rewrite (unsafe_step _ (@unsafe_settled [:: no; no; intended] 2 true (Some half) isT erefl)).
reflexivity.
Qed.

Theorem unguarded_settle_undercounts :
  spent (unsafe_run (create 1) attack) = half /\ ledger_loss (unsafe_run (create 1) attack) = 1.
Proof. by rewrite attack_ends /spent /ledger_loss !big_nat1; split; apply/eqP; vm_compute. Qed.
