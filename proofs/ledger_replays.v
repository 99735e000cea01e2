(** * What a ledger holds may be read again

    A server gives an answer again that its ledger holds, to whoever sends the same request again, and shows the
    answers of a gate; also those of before a backup was restored, of gates that are closed since. Of the worlds of
    ledger_crashes.v, [Again] is about answers of this ledger; here are all.

    - [stores s n k o]: the gate of entry n in the ledger s has, or had, the outcome o for its ask k.

    Exported: [stored_answers_are_counted]: whatever the ledger on disk holds is counted, in it or in a ledger that was
    lost. So to read it again costs nothing. *)

From mathcomp Require Import all_ssreflect all_algebra.
From Sparsegate Require Import ledger_gates ledger ledger_refunds ledger_crashes ledger_answers.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Definition stores s n k o := exists2 g, paid_for (entry s n) = Holds g & nth None (known g) k = Some o.

Definition counted_somewhere w n k o := exists2 i, (i <= size (gone w))%N &
  counted_in (nth (create 0) (rcons (gone w) (disk w)) i) n k o.

(** Nothing of before a restoring gets an outcome. *)
Lemma holds_before s s' e n k o : sound s -> apply e s = Some s' -> (n < restored s)%N ->
  (if e is Settle m _ _ then (restored s <= m)%N else true) -> stores s' n k o -> stores s n k o.
Proof.
move=> s_ok E old; have lt : (n < size (lines s))%N := leq_trans old s_ok.1.
have appended K X U : charge_line K X U s = Some s' -> entry s' n = entry s n.
  by rewrite /charge_line; case: ifP => // _ [<-]; rewrite /entry /= nth_rcons lt.
have began m u y : begin_release m u y s = Some s' -> entry s' n = entry s n.
  rewrite /begin_release; case F: (entry s m) => [[] ? [//|] [|//|//]] //; case: ifP => // /and3P[_ _ fresh] [<-].
  by rewrite entry_put; case: (n =P m) => // eq_nm; move: fresh; rewrite /restored_after -eq_nm old.
have gate_event m f : at_gate m f s = Some s' -> (forall b g g', n = m -> paid_for (entry s n) = Holds g ->
    f b g = Some g' -> known g' = known g) -> stores s' n k o -> stores s n k o.
  rewrite /at_gate; case F: (entry s m) => [? ? b [|?|h]] //; case G: f => [h'|] //= [<-] keeps.
  rewrite /stores entry_put; case: (n =P m) => // eq_nm [g [<-] at_k]; exists h; first by rewrite eq_nm F.
  by rewrite -(keeps b h h') // eq_nm F.
move: E; case: e => [X|X|sp r|m X|m sp r|m|m j q|m j w|m|m|X] /= E guard.
- by rewrite /stores (appended _ _ _ E).
- by rewrite /stores (appended _ _ _ E).
- by rewrite /stores (appended _ _ _ E).
- by rewrite /stores (began _ _ _ E).
- by rewrite /stores (began _ _ _ E).
- apply: gate_event E _ => b g g' _ at_n; have := s_ok.2 n lt; rewrite /restored_after old /frozen at_n.
  by case/and3P=> bec _ _; rewrite /intend_gate /closed bec.
- by apply: gate_event E _ => b g g' eq_nm; move: guard; rewrite -eq_nm leqNgt old.
- by apply: gate_event E _ => b g g' _ _ /void_known.
- by apply: gate_event E _ => b g g' _ _ [<-].
- move: E; rewrite /give_back; case F: (entry s m) => [? ? [//|] [|?|h]] //; case: ifP => // /and4P[_ _ fresh _] [<-].
  by rewrite /stores entry_put; case: (n =P m) => // eq_nm; move: fresh; rewrite /restored_after -eq_nm old.
- by move: E; rewrite /raise_budget; case: ifP => // _ [<-].
Qed.

Lemma holds_restored d x n k o : stores (restored_ledger d x) n k o -> stores d n k o.
Proof.
case=> g; case: (ltnP n (size (lines d))) => [lt|ge].
  rewrite restored_entry // /shut_line /stores; case: (entry d n) => ? ? ? [|?|h] //= [<-] at_k.
  by exists h.
rewrite /entry /= nth_rcons size_map ltnNge ge /=; case: eqP => // _.
Qed.

Record replays (w : world) : Prop := Replays {
  held_counted : forall n k o, stores (disk w) n k o -> counted_somewhere w n k o;
  backup_counted : forall i n k o, (i < size (backups w))%N ->
    stores (nth (create 0, 0) (backups w) i).1 n k o -> counted_somewhere w n k o;
  before_lock : forall t n k o, writing w = Some t -> (n < restored (disk w))%N ->
    stores (sees t) n k o -> stores (disk w) n k o }.

Lemma replays_next w e : safe w -> replays w -> replays (next_world w e).
Proof.
move=> [w_ok [left_ok handed_ok lock_ok]] w_re; have s_ok := disk_sound w_ok; have [held backed locked] := w_re.
case: e => [p|p e|p|p|p n k o|n k o|p||i since] /=.
- by case E: (writing w) => //; split=> //= t n k o [<-].
- rewrite /in_transaction; case E: (writing w) => [t|] //; case: eqP => // _; case: ifP => // allowed.
  have [es run_es _] := lock_ok t E; have t_ok : sound (sees t) by rewrite run_es; apply: run_sound.
  have same : restored (sees t) = restored (disk w) by rewrite run_es run_restored.
  case F: (apply e (sees t)) => [s|]; last by split=> //= t' n k o; rewrite E => -[<-]; apply: locked.
  split=> //= t' n k o [<-] old /= new; apply: (locked t) => //.
  apply: holds_before F _ _ new => //; rewrite same //.
  by case: (e) allowed => // m j q /handed_ok.
- rewrite /in_transaction; case E: (writing w) => [t|] //; case: eqP => // _.
  have [es run_es _] := lock_ok t E; have same : restored (sees t) = restored (disk w) by rewrite run_es run_restored.
  set w' := World _ _ _ _ _ _ _; have keep n k o : counted_somewhere w n k o -> counted_somewhere w' n k o.
    case=> i le; rewrite nth_rcons => at_i; exists i => //; rewrite nth_rcons.
    case: ltnP at_i => // ge; case: eqP => // _ at_i.
    by rewrite /= run_es; apply: (@result_ok_run _ es (n, k, Some o)).
  split=> //= [n k o new|i n k o lt at_i]; last by apply: keep; apply: backed at_i.
  have [old|fresh] := ltnP n (restored (disk w)); first by apply/keep/held; apply: locked E old new.
  by exists (size (gone w)) => //; rewrite nth_rcons ltnn eqxx; split=> //=; rewrite same.
- by rewrite /in_transaction; case E: (writing w) => [t|] //; case: eqP => // _; split.
- by case: ifP.
- by case: paid_for => // g; case: ifP.
- by rewrite /in_transaction; case E: (writing w) => [t|]; [case: eqP => _|]; split=> //= t' n k o; rewrite ?E.
- by split=> //= -[|i] n k o //=; [move=> _; apply: held | apply: backed].
- rewrite /restore; case: ifP => // lt; case F: nth => [d t]; case: ifP => // _.
  set w' := World _ _ _ _ _ _ _; have keep n k o : counted_somewhere w n k o -> counted_somewhere w' n k o.
    case=> j le at_j; exists j; first by rewrite /= size_rcons leqW.
    by rewrite /= nth_rcons size_rcons ltnS le.
  split=> //= [n k o /holds_restored new|j n k o lt_j at_j]; apply: keep; last exact: backed at_j.
  by apply: (backed i) => //; rewrite F.
Qed.

Theorem stored_answers_are_counted b es n g k o : 0 <= b ->
  paid_for (entry (disk (world_after b es)) n) = Holds g -> nth None (known g) k = Some o ->
  exists2 i, (i <= size (gone (world_after b es)))%N &
    counted_in (nth (create 0) (rcons (gone (world_after b es)) (disk (world_after b es))) i) n k o.
Proof.
move=> b_ge0 at_n at_k; have : safe (start b) /\ replays (start b).
  split; first by split; [exact: sums_start | split].
  by split=> // m j q [h]; rewrite /entry nth_nil.
have {at_n at_k} : stores (disk (world_after b es)) n k o by exists g.
rewrite /world_after; elim: es (start b) => [|e es IH] w /= at_n [w_ok w_re]; first exact: (held_counted w_re).
by apply: IH => //; split; [apply: safe_next | apply: replays_next].
Qed.

(** There are such answers: one of a gate that was open, and is closed since a backup of then was restored. *)
Lemma answer_of_before : let w := world_after 1 (opening_events ++ asking_events ++ [:: Commit 1; BackUp; Restore 0 (Some 0)]) in
  (0 < restored (disk w))%N /\ stores (disk w) 0 0 true.
Proof.
rewrite history_opened /= /in_transaction /= /restore /=.
by rewrite [X in X - _]/charged_ever [X in _ - X]/charged_ever /= subrr lexx /=; split=> //; eexists.
Qed.
