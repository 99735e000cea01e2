(** * What has left is counted, whatever happens

    Of the worlds of ledger_crashes.v, after any list of events of any number of processes ([history b es]):

    - [released_is_counted_after_crashes]: [loss_outside] is at most what the ledger on disk counts;
    - [released_is_within_largest_budget]: and at most the largest budget that there was;
    - [spent_within_budget_after_crashes]: what is counted is within the budget, unless somebody who restored a backup
      stated more than was left;
    - [answers_that_left_are_counted]: every answer that left is one of those whose loss is counted, in the ledger that
      it came from;
    - [refunded_gate_is_silent_everywhere]: until a backup is restored, a gate that gave back gives nothing back again,
      and the outside learns nothing more from it, whichever processes write, crash and resume.

    [answer_leaves] and [crash_takes_the_answer_along] show that answers do leave, and are lost. *)

From mathcomp Require Import all_ssreflect ssralg ssrnum ssrint rat.
From Sparsegate Require Import ledger_gates ledger ledger_losses ledger_refunds ledger_crashes.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** The ledger counts this answer, and no restoring has replaced the entry. *)
Definition counted_in s n k o := (restored s <= n)%N /\
  exists2 g, paid_for (entry s n) = Holds g & nth None (known g) k = Some o.
Definition result_ok s (x : result) :=
  let: (n, k, r) := x in if r is Some o then counted_in s n k o else (restored s <= n)%N : Prop.

Record answers_kept (w : world) : Prop := Answers {
  left_counted : forall i n k o, (i, n, k, o) \in outside w ->
    counted_in (nth (create 0) (rcons (gone w) (disk w)) i) n k o /\ (i <= size (gone w))%N;
  handed_counted : forall p x, (p, x) \in handed w -> result_ok (disk w) x;
  under_lock : forall t, writing w = Some t -> exists2 es, sees t = run_ledger (disk w) es &
    forall x, x \in results t -> result_ok (sees t) x }.

Lemma result_ok_after s e x : sound s -> result_ok s x -> result_ok (after s e) x.
Proof.
move=> s_ok; have [z [[_ same _ _ _] _]] := after_step e s_ok; case: x => -[n k] [o|] /=; last by rewrite same.
case=> le [g at_n knows]; split; first by rewrite same.
rewrite /after; case E: (apply e s) => [s'|] /=; last by exists g.
move: at_n; case F: (entry s n) => [K X B [|?|h]] //= [eq_g]; subst h.
have [b' [g' [at_n' grows _]]] := apply_later s_ok E F.
by exists g'; [rewrite at_n' | apply: grows].
Qed.

Lemma result_ok_run s es x : sound s -> result_ok s x -> result_ok (run_ledger s es) x.
Proof.
elim: es s => //= e es IH s s_ok ok; have [z [[s'_ok _ _ _ _] _]] := after_step e s_ok.
by apply: IH => //; apply: result_ok_after.
Qed.

Lemma run_rcons s es e : run_ledger s (rcons es e) = after (run_ledger s es) e.
Proof. by rewrite /run_ledger -cats1 foldl_cat. Qed.

Lemma new_result_ok s s' e x : sound s -> apply e s = Some s' -> x \in result_of e s ->
  (if e is Settle n _ _ then (restored s <= n)%N else true) -> result_ok s' x.
Proof.
move=> s_ok E; have [[_ same _ _ _] _] := apply_step s_ok E; case: e E => //= [n|n k o] E.
  case F: (entry s n) => [K X B [|?|g]] //=; rewrite inE => /eqP-> _ /=; rewrite same leqNgt; apply/negP => frozen_n.
  have lt : (n < size (lines s))%N by apply: entry_in; rewrite F.
  have := s_ok.2 n lt; rewrite /restored_after frozen_n F => /and3P[bec _ _].
  by move: E; rewrite /intend /at_gate F /intend_gate /closed bec.
rewrite inE => /eqP-> le; split; first by rewrite same.
move: E; rewrite /settle /at_gate; case: (entry s n) => K X B [|?|g] //=; case: B => //=.
rewrite /settle_gate; case: ifP => // /andP[lt _] [<-]; eexists; first by rewrite entry_put eqxx.
by rewrite /known /= (nth_map intended) ?size_set // nth_set_nth /= eqxx.
Qed.

Lemma known_now l k o : remembered l -> now (nth intended l k) = Some o -> nth None [seq ever a | a <- l] k = Some o.
Proof.
elim: l k => [|a l IH] [|k] //= /andP[ok rest]; last exact: IH.
by move=> is_o; move: ok; rewrite is_o => /eqP.
Qed.

Definition safe w := sums w /\ answers_kept w.

Lemma safe_next w e : safe w -> safe (next_world w e).
Proof.
move=> [w_ok [left_ok handed_ok lock_ok]]; have s_ok := disk_sound w_ok.
case: e => [p|p e|p|p|p n k o|n k o|p||i since] /=.
- case E: (writing w) => //; split; first exact: sums_ext w_ok.
  by split=> //= t [<-]; exists [::].
- rewrite /in_transaction; case E: (writing w) => [t|] //; case: eqP => // _; case: ifP => // allowed.
  have fewer x : x \in used p e (handed w) -> x \in handed w.
    by rewrite /used; case: (e) => // n k _ /mem_rem.
  have [es run_es res_ok] := lock_ok t E.
  have t_ok : sound (sees t) by rewrite run_es; apply: run_sound.
  case F: (apply e (sees t)) => [s|]; last first.
    by split; [exact: sums_ext w_ok | split=> //= q x /fewer; apply: handed_ok].
  split; first exact: sums_ext w_ok.
  split=> //= [q x /fewer|t' [<-]]; first exact: handed_ok.
  exists (rcons es e) => /= [|x]; first by rewrite run_rcons -run_es /after F.
  have s_eq : s = after (sees t) e by rewrite /after F.
  rewrite mem_cat => /orP[/res_ok ok|new]; first by rewrite s_eq; apply: result_ok_after.
  apply: new_result_ok F new _ => //; case: (e) allowed => // n k o /= /handed_ok /=.
  by rewrite run_es run_restored.
- rewrite /in_transaction; case E: (writing w) => [t|] //; case: eqP => // _.
  have [es run_es res_ok] := lock_ok t E; split.
    by apply: (sums_ext _ _ _ _ (sums_run es w_ok)) => //=; rewrite run_es.
  split=> //= [i n k o /left_ok[ok le]|q x].
    split=> //; move: ok; rewrite !nth_rcons; case: ltnP => // ge.
    by case: eqP => // _ ok; rewrite run_es; apply: (@result_ok_run _ es (n, k, Some o)).
  rewrite mem_cat => /orP[/handed_ok ok|/mapP[y y_in [_ ->]]]; last exact: res_ok.
  by rewrite run_es; apply: result_ok_run.
- rewrite /in_transaction; case E: (writing w) => [t|] //; case: eqP => // _.
  by split; [exact: sums_ext w_ok | split].
- case: ifP => // /handed_ok ok; split; first exact: sums_ext w_ok.
  split=> //= j m l q; rewrite in_cons => /orP[/eqP[-> -> -> ->]|]; last exact: left_ok.
  by rewrite nth_rcons ltnn eqxx.
- case E: (paid_for (entry (disk w) n)) => [|?|g] //; case: ifP => // /andP[le /eqP said].
  split; first exact: sums_ext w_ok.
  split=> //= j m l q; rewrite in_cons => /orP[/eqP[-> -> -> ->]|]; last exact: left_ok.
  rewrite nth_rcons ltnn eqxx; split=> //; split=> //; exists g => //.
  have lt : (n < size (lines (disk w)))%N by apply: entry_in; rewrite E.
  have := s_ok.2 n lt; rewrite /restored_after ltnNge le /= => -[_]; rewrite E => -[/known_now ok _ _ _].
  exact: ok.
- have no_lock : safe (with_writing w None) by split; [exact: sums_ext w_ok | split].
  rewrite /in_transaction; case E: (writing w) => [t|]; last first.
    by split; [exact: sums_ext w_ok | split=> //= q x; rewrite mem_filter => /andP[_]; apply: handed_ok].
  case: eqP => _; split; do ?[exact: sums_ext w_ok]; split=> //= q x; rewrite mem_filter => /andP[_]; exact: handed_ok.
- by split; [exact: sums_backup | split].
- split; first exact: sums_restore.
  rewrite /restore; case: ifP => // _; case: nth => d t; case: ifP => // _; split=> //= j n k o /left_ok[ok le].
  by split; [rewrite nth_rcons size_rcons ltnS le | rewrite size_rcons leqW].
Qed.

Lemma safe_history b es : 0 <= b -> safe (world_after b es).
Proof.
move=> b_ge0; have : safe (start b) by split; [exact: sums_start | split].
by rewrite /world_after; elim: es (start b) => //= e es IH w w_ok; apply/IH/safe_next.
Qed.

(** ** Whatever happens *)

Theorem released_is_counted_after_crashes b es : 0 <= b ->
  loss_outside (world_after b es) <= spent (disk (world_after b es)).
Proof.
move=> /(safe_history es)[w_ok _]; apply: le_trans (sums_counted w_ok); apply: loss_le_net_of; exact: w_ok.
Qed.

Theorem released_is_within_largest_budget b es : 0 <= b ->
  loss_outside (world_after b es) <= largest_budget (world_after b es).
Proof.
by move=> /(safe_history es)[w_ok _]; apply: le_trans (net_within w_ok); apply: loss_le_net_of.
Qed.

Theorem spent_within_budget_after_crashes b es : 0 <= b -> ~~ overdrawn (world_after b es) ->
  spent (disk (world_after b es)) <= budget (disk (world_after b es)).
Proof. by move=> /(safe_history es)[w_ok _]; apply: not_overdrawn. Qed.

Theorem answers_that_left_are_counted b es i n k o : 0 <= b -> (i, n, k, o) \in outside (world_after b es) ->
  counted_in (nth (create 0) (rcons (gone (world_after b es)) (disk (world_after b es))) i) n k o.
Proof. by move=> /(safe_history es)[_ [left_ok _ _]] /left_ok[]. Qed.

Definition restores e := if e is Restore _ _ then true else false.

Lemma disk_next w e : safe w -> ~~ restores e -> exists es, disk (next_world w e) = run_ledger (disk w) es.
Proof.
move=> [_ [_ _ lock_ok]]; case: e => [p|p e|p|p|p n k o|n k o|p||//] _ /=.
- by exists [::]; case: (writing w).
- exists [::]; rewrite /in_transaction; case: (writing w) => // t; case: ifP => // _; case: ifP => // _.
  by case: apply.
- rewrite /in_transaction; case E: (writing w) => [t|]; last by exists [::].
  by case: ifP => _; [have [es] := lock_ok t E; exists es | exists [::]].
- by exists [::]; rewrite /in_transaction; case: (writing w) => // t; case: ifP.
- by exists [::]; case: ifP.
- by exists [::]; case: paid_for => // g; case: ifP.
- by exists [::]; rewrite /in_transaction; case: (writing w) => // t; case: ifP.
- by exists [::].
Qed.

(** Whichever processes write, crash and resume: what went back is paid for by silence. *)
Theorem refunded_gate_is_silent_everywhere b es es' n k x y g : 0 <= b -> ~~ has restores es' ->
  entry (disk (world_after b es)) n = Line k x (Some y) (Holds g) ->
  exists g', [/\ entry (disk (world_after b (es ++ es'))) n = Line k x (Some y) (Holds g'), known g' = known g & closed g'].
Proof.
move=> b_ge0 none at_n; rewrite /world_after foldl_cat -/(world_after b es).
have w_ok := safe_history es b_ge0; have shut : closed g := refunded_is_closed (disk_sound w_ok.1) at_n.
elim: es' (world_after b es) g w_ok at_n shut none => [|e es' IH] w h w_ok at_n shut /=; first by exists h.
rewrite negb_or => /andP[no_e none]; have [es1 same] := disk_next w_ok no_e.
have [h1 [at_n1 same1 shut1]] := run_later es1 (disk_sound w_ok.1) at_n shut; rewrite -same in at_n1.
have [g' [at_n' same' shut']] := IH _ _ (safe_next e w_ok) at_n1 shut1 none.
by exists g'; split=> //; rewrite same'.
Qed.

(** The model is not silent: an ask is answered, and the answer leaves; a crash before the commit takes it along. *)
Definition opening_events := [:: Begin 0; Piece 0 (OpenGate watched true); Commit 0].
Definition asking_events := [:: Begin 1; Piece 1 (Intend 0); Commit 1; Begin 1; Piece 1 (Settle 0 0 true)].

Lemma next_opened b s sp : apply (OpenGate sp true) (create b) = Some s ->
  foldl next_world (start b) [:: Begin 0; Piece 0 (OpenGate sp true); Commit 0] = World s None [::] [::] [::] [::] false.
Proof. by rewrite /= => E; rewrite /in_transaction /= E. Qed.

Lemma history_opened es : world_after 1 (opening_events ++ es) =
  foldl next_world (World (one (with_asks [::]) None) None [::] [::] [::] [::] false) es.
Proof. by rewrite /world_after foldl_cat (next_opened unsafe_open). Qed.

Lemma answer_leaves : outside (world_after 1 (opening_events ++ asking_events ++ [:: Commit 1; Leave 1 0 0 true])) = [:: (0, 0, 0, true)%N].
Proof. by rewrite history_opened. Qed.

Lemma crash_takes_the_answer_along o :
  outside (world_after 1 (opening_events ++ asking_events ++ [:: Crash 1; Leave 1 0 0 o; Again 0 0 o])) = [::].
Proof. by rewrite history_opened; case: o. Qed.
