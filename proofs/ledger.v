(** * The ledger's filter

    The transitions of [ledger/ledger.py] and [service/gate_store.py] as functions on lists, named as they are there.
    [apply e s] is [None] where the code refuses; [run_ledger s es] is the state after a list of events, in which those that
    are refused change nothing. Each event is one transaction (several of them in one, crashes, processes and backups:
    ledger_crashes.v).

    - A [line] is an entry of the ledger joined with what the other tables say of its number: what it gave back (a key
      of the table refunds, so at most once), and what it paid for: nothing yet, a release, or a gate.
    - [spent s]: what is realised and reserved, less what went back.
    - [ledger_loss s]: the loss of all that has left: what releases were charged, and gates at the worst completion of their
      asks without an outcome ([worst_of ever]).

    For every list of events [spent] is within the budget ([spent_within_budget]), and what has left costs at most what
    is counted ([released_is_counted]).

    Beside the code: amounts are epsilons (deltas add likewise, and never go back). A release counts as made once its
    charge is written. A gate in the memory of one process is one whose every ask is settled at once. Quotas only refuse
    more. What somebody gives back by hand, without a gate, is not among the events: it is theirs to justify. *)

From mathcomp Require Import all_ssreflect ssralg ssrnum ssrint rat.
From Sparsegate Require Import ledger_gates.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Inductive entry_kind := SPEND | RESERVE | RESTORE.
Inductive use := Nothing | Gave of rat | Holds of served_gate.

Record line := Line { kind : entry_kind; amount : rat; back : option rat; paid_for : use }.
Definition no_line := Line RESTORE 0 None Nothing.
Definition given_back l := odflt 0 (back l).
Definition net l := amount l - given_back l.

(** [restored]: how many entries there were when it was last restored from a backup; 0: never. *)
Record ledger := Ledger { budget : rat; lines : seq line; restored : nat }.
Definition create b := Ledger b [::] 0.
Definition entry s n := nth no_line (lines s) n.
Definition put s n l := Ledger (budget s) (set_nth no_line (lines s) n l) (restored s).
Definition restored_after s n := (n < restored s)%N.

Definition spent s := \sum_(0 <= n < size (lines s)) net (entry s n).

Definition charge_line k x u s :=
  if (0 <= x) && (spent s + x <= budget s) then
    Some (Ledger (budget s) (rcons (lines s) (Line k x None u)) (restored s)) else None.
Definition open_gate sp refund s := charge_line SPEND (epsilon sp) (Holds (Gate sp [::] false refund)) s.

Definition begin_release n u x s :=
  let l := entry s n in
  if l is Line RESERVE _ None Nothing then
    if [&& 0 <= x, x <= amount l & ~~ restored_after s n] then Some (put s n (Line RESERVE (amount l) None u))
    else None
  else None.

Definition at_gate n (step : option rat -> served_gate -> option served_gate) s :=
  if entry s n is Line k x b (Holds g) then omap (fun g' => put s n (Line k x b (Holds g'))) (step b g) else None.

Definition intend n := at_gate n (fun _ => intend_gate).
(** A gate that gave back takes no outcome any more. *)
Definition settle n k outcome := at_gate n (fun b g => if b is Some _ then None else settle_gate k outcome g).
Definition void n k why := at_gate n (fun _ => void_gate k why).
Definition close n := at_gate n (fun _ => close_gate).

Definition give_back n s :=
  if entry s n is Line k x None (Holds g) then
    if [&& closed g, refunds g, ~~ restored_after s n & 0 < unused g] then
      Some (put s n (Line k x (Some (unused g)) (Holds g))) else None
  else None.

Definition raise_budget x s := if budget s < x then Some (Ledger x (lines s) (restored s)) else None.

Inductive ledger_event :=
  | Spend of rat | Reserve of rat | OpenGate of spec & bool | BeginRelease of nat & rat | BeginGate of nat & spec & bool
  | Intend of nat | Settle of nat & nat & bool | Void of nat & nat & bool | Close of nat | GiveBack of nat
  | RaiseBudget of rat.

Definition apply e s : option ledger := match e with
  | Spend x => charge_line SPEND x (Gave x) s
  | Reserve x => charge_line RESERVE x Nothing s
  | OpenGate sp refund => open_gate sp refund s
  | BeginRelease n x => begin_release n (Gave x) x s
  | BeginGate n sp refund => begin_release n (Holds (Gate sp [::] false refund)) (epsilon sp) s
  | Intend n => intend n s
  | Settle n k outcome => settle n k outcome s
  | Void n k why => void n k why s
  | Close n => close n s
  | GiveBack n => give_back n s
  | RaiseBudget x => raise_budget x s
  end.
Definition after s e := odflt s (apply e s).
Definition run_ledger s es := foldl after s es.

(** What an event asks of the budget. *)
Definition charged e : rat := match e with
  | Spend x | Reserve x => x | OpenGate sp _ => epsilon sp | _ => 0 end.

(** What has left, and the net charge for it, since the last restoring. *)
Definition loss_of_line l := match paid_for l with Nothing => 0 | Gave x => x | Holds g => worst_of ever g end.
Definition ledger_loss s := \sum_(restored s <= n < size (lines s)) loss_of_line (entry s n).
Definition net_since s := \sum_(restored s <= n < size (lines s)) net (entry s n).
Definition charged_since s := \sum_(restored s <= n < size (lines s)) amount (entry s n).

Definition good (l : line) := 0 <= amount l /\
  match paid_for l with
  | Nothing => back l = None
  | Gave x => back l = None /\ x <= amount l
  | Holds g => [/\ remembered (asks g), epsilon (law g) <= amount l, worst_of ever g <= epsilon (law g) &
      forall x, back l = Some x -> [/\ 0 <= x, closed g & worst_of ever g + x <= epsilon (law g)]]
  end.

(** Of before a restoring: nothing of it answers or goes back. *)
Definition frozen (l : line) :=
  if paid_for l is Holds g then [&& because g, ~~ refunds g & remembered (asks g)] else true.

Definition sound s := (restored s <= size (lines s))%N /\
  forall n, (n < size (lines s))%N -> if restored_after s n then frozen (entry s n) : Prop else good (entry s n).

(** ** Every event *)

Lemma entry_put s n l m : entry (put s n l) m = if m == n then l else entry s m.
Proof. by rewrite /entry /put /= nth_set_nth. Qed.

Lemma size_put s n l : (n < size (lines s))%N -> size (lines (put s n l)) = size (lines s).
Proof. exact: size_set. Qed.

Lemma entry_in s n : paid_for (entry s n) <> Nothing -> (n < size (lines s))%N.
Proof. by case: ltnP => // ge; rewrite /entry nth_default. Qed.

Definition old s := \sum_(0 <= n < restored s) net (entry s n).

Lemma spent_split s : sound s -> spent s = old s + net_since s.
Proof. by case=> le _; rewrite /spent (big_cat_nat _ _ _ _ le). Qed.

(** What every event keeps; [x] is what it charges. *)
Definition step s s' (x : rat) := [/\ sound s', restored s' = restored s, old s' = old s,
  net_since s' <= net_since s + x & budget s <= budget s'] /\
  [/\ 0 <= x, charged_since s' = charged_since s + x & x = 0 \/ spent s + x <= budget s].

Lemma put_step s n l : sound s -> (n < size (lines s))%N -> amount l = amount (entry s n) ->
  (if restored_after s n then frozen l /\ net l = net (entry s n) else good l /\ net l <= net (entry s n)) ->
  step s (put s n l) 0.
Proof.
move=> [le ok] lt same new; have size_l := size_put l lt; split; last first.
  split=> //; last by left.
  rewrite addr0 /charged_since size_l; apply: eq_big_nat => m _; rewrite entry_put.
  by case: (m =P n) => // ->.
split=> //.
- split=> [|m]; rewrite size_l // => lt_m; rewrite entry_put.
  case: (m =P n) => [->|_]; last exact: ok lt_m.
  by move: new; rewrite /restored_after /=; case: ifP => _ [].
- apply: eq_big_nat => m /andP[_ lt_m]; rewrite entry_put; case: (m =P n) => // eq_mn.
  by move: new; rewrite -eq_mn /restored_after lt_m => -[].
- rewrite addr0 /net_since size_l; apply: ler_sum_nat => m /andP[le_m _]; rewrite entry_put.
  case: (m =P n) => // eq_mn; move: new; rewrite -eq_mn /restored_after ltnNge le_m => -[_]; exact.
Qed.

Lemma charge_step k x u s s' : sound s -> good (Line k x None u) -> charge_line k x u s = Some s' -> step s s' x.
Proof.
move=> [le ok] new; rewrite /charge_line; case: ifP => // /andP[x_ge0 fits] [<-].
have entry_new m : (m < size (lines s))%N -> nth no_line (rcons (lines s) (Line k x None u)) m = entry s m.
  by move=> lt; rewrite nth_rcons lt.
split; last first.
  split=> //; last by right.
  rewrite /charged_since /= size_rcons big_nat_recr //= {2}/entry /= nth_rcons ltnn eqxx /=; congr (_ + _).
  by apply: eq_big_nat => m /andP[_ lt]; rewrite /entry /= entry_new.
split=> //.
- split=> [|m]; rewrite /= size_rcons; first exact: leqW.
  rewrite ltnS leq_eqVlt => /orP[/eqP-> | lt]; last by rewrite /entry /= entry_new //; apply: ok.
  by rewrite /restored_after ltnNge le /= /entry /= nth_rcons ltnn eqxx.
- by apply: eq_big_nat => m /andP[_ lt]; rewrite /entry /= entry_new // (leq_trans lt).
- rewrite /net_since /= size_rcons big_nat_recr //= {2}/entry /= nth_rcons ltnn eqxx /net /= subr0 ler_add2r.
  by apply: ler_sum_nat => m /andP[_ lt]; rewrite /entry /= entry_new.
Qed.

Lemma at_gate_step n f s s' : sound s -> at_gate n f s = Some s' ->
  (forall k x b g g', f b g = Some g' ->
    (frozen (Line k x b (Holds g)) -> frozen (Line k x b (Holds g'))) /\
    (good (Line k x b (Holds g)) -> good (Line k x b (Holds g')))) -> step s s' 0.
Proof.
move=> s_ok; rewrite /at_gate; case E: (entry s n) => [k x b [|y|g]] //=.
case F: (f b g) => [g'|] //= [<-] /(_ k x b g g' F) [keeps_frozen keeps_good].
have lt : (n < size (lines s))%N by apply: entry_in; rewrite E.
apply: put_step => //; rewrite ?E //; have := s_ok.2 n lt; rewrite E.
by case: ifP => _ h; split=> //; [apply: keeps_frozen | apply: keeps_good].
Qed.

Lemma give_back_step n s s' : sound s -> give_back n s = Some s' -> step s s' 0.
Proof.
move=> s_ok; rewrite /give_back; case E: (entry s n) => [k x [//|] [|y|g]] //.
case: ifP => // /and4P[is_closed _ fresh some] [<-].
have lt : (n < size (lines s))%N by apply: entry_in; rewrite E.
apply: put_step => //; rewrite ?E //; have := s_ok.2 n lt; rewrite (negbTE fresh) E => -[/= x_ge0 [ok le paid _]].
split; last by rewrite /net /given_back /= subr0 ler_subl_addr ler_addl ltW.
by split=> //=; split=> // y [<-]; split=> //; [exact: ltW | exact: unused_le].
Qed.

Lemma begin_release_step n u x s s' : sound s -> begin_release n u x s = Some s' ->
  (forall y, x <= y -> 0 <= y -> good (Line RESERVE y None u)) -> step s s' 0.
Proof.
move=> s_ok; rewrite /begin_release; case E: (entry s n) => [[] y [//|] [|//|//]] //=.
case: ifP => // /and3P[x_ge0 le fresh] [<-] is_good.
have lt : (n < size (lines s))%N by case: ltnP => // ge; move: E; rewrite /entry nth_default.
apply: put_step => //; rewrite ?E // (negbTE fresh); split=> //.
by apply: is_good => //; apply: le_trans le.
Qed.

Lemma fresh_good sp k x refund : epsilon sp <= x -> good (Line k x None (Holds (Gate sp [::] false refund))).
Proof.
move=> le; split; first exact: le_trans (epsilon_ge0 sp) le.
split=> //=; rewrite /worst_of /worst_loss /=; rewrite le_maxl epsilon_ge0 andbT loss_start; exact: epsilon_ge0.
Qed.

Lemma apply_step e s s' : sound s -> apply e s = Some s' -> step s s' (charged e).
Proof.
move=> s_ok; case: e => [x|x|sp r|n x|n sp r|n|n k o|n k w|n|n|x] /= E.
- by apply: charge_step (E) => //; split=> //=; move: E; rewrite /charge_line; case: ifP => // /andP[].
- by apply: charge_step (E) => //; split=> //=; move: E; rewrite /charge_line; case: ifP => // /andP[].
- by apply: charge_step E => //; exact: fresh_good.
- by apply: begin_release_step E _ => // y le y_ge0; split.
- by apply: begin_release_step E _ => // y le _; exact: fresh_good.
- apply: at_gate_step E _ => // k x b g g' int; split=> [|[x_ge0 /= [ok le paid back_ok]]].
    by case/and3P=> bec; move: int; rewrite /intend_gate /closed bec.
  have [same ok' /negP is_open paid'] := intend_covered int ok.
  by split=> //; split=> //=; rewrite same // => y /back_ok[].
- apply: at_gate_step E _ => // ? x [//|] g g' set_; split=> [/and3P[bec ref ok]|[x_ge0 /= [ok le paid back_ok]]].
    have [_ ok' _] := settle_covered set_ ok.
    by rewrite /frozen /= ok' andbT; move: set_; rewrite /settle_gate; case: ifP => // _ [<-]; rewrite bec ref.
  have [same ok' paid'] := settle_covered set_ ok.
  by split=> //; split=> //=; rewrite same // (le_trans paid').
- apply: at_gate_step E _ => // ? x b g g' v; split=> [/and3P[bec ref ok]|[x_ge0 /= [ok le paid back_ok]]].
    by have [_ ok' _ _ [bec' ref']] := void_covered v ok; rewrite /frozen /= bec' // ref' ref ok'.
  have [same ok' known keeps _] := void_covered v ok.
  split=> //; split=> //=; rewrite same ?known // => y /back_ok[y_ge0 /keeps is_closed le_y].
  by split.
- apply: at_gate_step E _ => // k x b g g' [<-]; split=> [/and3P[_ ref ok]|[x_ge0 /= [ok le paid back_ok]]].
    by rewrite /frozen /= ref ok.
  by split=> //; split=> // y /back_ok[].
- exact: give_back_step E.
- move: E; rewrite /raise_budget; case: ifP => // lt [<-]; split; last by split; [| rewrite addr0 | left].
  by split=> //; rewrite ?addr0 // ltW.
Qed.

(** ** Any list of events *)

Lemma step_spent s s' x : sound s -> step s s' x ->
  spent s' <= spent s + x /\ (spent s <= budget s -> spent s' <= budget s').
Proof.
move=> s_ok [[s'_ok _ same le_net le_budget] [x_ge0 _ fits]].
have le : spent s' <= spent s + x by rewrite !spent_split // same -addrA ler_add2l.
split=> // within; apply: le_trans le_budget; apply: le_trans le _.
by case: fits => [->|//]; rewrite addr0.
Qed.

Lemma after_step s e : sound s -> exists x, step s (after s e) x.
Proof.
move=> s_ok; rewrite /after; case E: (apply e s) => [s'|] /=; first by exists (charged e); apply: apply_step.
by exists 0; split; [split=> //; rewrite addr0 | split=> //; [rewrite addr0 | left]].
Qed.

Lemma run_sound s es : sound s -> sound (run_ledger s es).
Proof. by elim: es s => //= e es IH s /(after_step e)[x [[s'_ok _ _ _ _] _]]; apply: IH. Qed.

Lemma create_sound b : sound (create b). Proof. by []. Qed.

Theorem spent_within_budget b es : 0 <= b -> spent (run_ledger (create b) es) <= budget (run_ledger (create b) es).
Proof.
move=> b_ge0; have : spent (create b) <= budget (create b) by rewrite /spent big_nil.
elim: es (create b) (create_sound b) => //= e es IH s s_ok within.
have [x step_e] := after_step e s_ok; apply: IH; first by case: step_e => -[].
by case: (step_spent s_ok step_e) => _; apply.
Qed.

Lemma loss_le_net s : sound s -> ledger_loss s <= net_since s.
Proof.
move=> [le ok]; apply: ler_sum_nat => n /andP[le_n lt].
have := ok n lt; rewrite /restored_after ltnNge le_n /= => -[].
rewrite /loss_of_line /net /given_back; case: (entry s n) => k x b [|y|g] /= x_ge0.
- by move=> ->; rewrite subr0.
- by case=> ->; rewrite subr0.
case=> ok_g le_x paid back_ok; case: b back_ok => [y|] back_ok /=; last by rewrite subr0 (le_trans paid).
by rewrite ler_subr_addr (le_trans _ le_x) //; case: (back_ok y).
Qed.

Lemma run_restored s es : sound s -> restored (run_ledger s es) = restored s.
Proof.
elim: es s => //= e es IH s s_ok; have [x [[s'_ok same _ _ _] _]] := after_step e s_ok.
by rewrite IH.
Qed.

Theorem released_is_counted b es : ledger_loss (run_ledger (create b) es) <= spent (run_ledger (create b) es).
Proof.
have s_ok := run_sound es (create_sound b); rewrite spent_split // /old run_restored //= big_nil // add0r.
exact: loss_le_net.
Qed.
