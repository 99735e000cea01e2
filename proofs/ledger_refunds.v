(** * HEADER *)

From mathcomp Require Import all_ssreflect all_algebra.
From Sparsegate Require Import ledger_gates ledger.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** What went back was reserved, and realised by nothing that has left. *)
Theorem refund_is_unused b es n s' : give_back n (run (create b) es) = Some s' ->
  exists g x, [/\ paid_for (entry (run (create b) es) n) = Holds g, back (entry s' n) = Some x, 0 < x &
    x <= amount (entry s' n) - worst_of ever g].
Proof.
have s_ok := run_sound es (create_sound b); set s := run _ _ in s_ok *.
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
have appended K X U : charge K X U s = Some s' -> entry s' n = entry s n.
  by rewrite /charge; case: ifP => // _ [<-]; rewrite /entry /= nth_rcons lt.
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
- by apply: gate_event E _ => g' /void_known ->.
- by apply: gate_event E _ => g' [<-].
- move: E; rewrite /give_back; case F: (entry s m) => [? ? [//|] [|?|h]] //; case: ifP => // _ [<-].
  rewrite entry_put; case: (n =P m) => // eq_nm; move: F; rewrite -eq_nm at_n => -[? ? ? ?]; subst.
  by exists (Some (unused h)), h; split.
- by move: E; rewrite /raise_budget; case: ifP => // _ [<-].
Qed.

Lemma run_later s es n k x y g : sound s -> entry s n = Line k x (Some y) (Holds g) -> closed g ->
  exists g', [/\ entry (run s es) n = Line k x (Some y) (Holds g'), known g' = known g & closed g'].
Proof.
elim: es s g => [|e es IH] s g s_ok at_n shut /=; first by exists g.
have [z [[s'_ok _ _ _ _] _]] := after_step e s_ok; move: s'_ok; rewrite /after.
case E: (apply e s) => [s'|] /= s'_ok; last exact: IH at_n shut.
have [b' [g1 [at_n' _ /(_ y erefl) [eq_b same]]]] := apply_later s_ok E at_n; rewrite eq_b in at_n'.
have lt : (n < size (lines s'))%N by apply: entry_in; rewrite at_n'.
have shut1 : closed g1.
  have := s'_ok.2 n lt; rewrite at_n'; case: ifP => _; first by case/and3P=> bec _ _; rewrite /closed bec.
  by case=> _ /= [_ _ _ /(_ y erefl) []].
by have [g' [? ? ?]] := IH _ _ s'_ok at_n' shut1; exists g'; split=> //; rewrite -same.
Qed.

Theorem refunded_gate_is_silent b es es' n k x y g :
  entry (run (create b) es) n = Line k x (Some y) (Holds g) ->
  exists g', [/\ entry (run (create b) (es ++ es')) n = Line k x (Some y) (Holds g'), known g' = known g & closed g'].
Proof.
move=> at_n; rewrite /run foldl_cat -!/(run _ _); have s_ok := run_sound es (create_sound b).
apply: run_later s_ok at_n _; have lt : (n < size (lines (run (create b) es)))%N by apply: entry_in; rewrite at_n.
have := s_ok.2 n lt; rewrite at_n; case: ifP => _; first by case/and3P=> bec _ _; rewrite /closed bec.
by case=> _ /= [_ _ _ /(_ y erefl) []].
Qed.

