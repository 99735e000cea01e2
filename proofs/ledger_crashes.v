(** * The ledger through crashes, with several processes, and from backups

    A [world] has the ledger on [disk], at most one transaction that is being written, under the one write lock
    ([ledger/database.py]: several pieces, each of which is done or refused, committed together or not at all), what
    the callers of each process have got back, the answers that have left, ledgers that were lost, and backups.

    - [Begin], [Piece], [Commit], [Abort]: a transaction. What a piece gives its caller is [handed] out at the commit.
      Who settles an ask holds an intent that is on disk, and settles it once.
    - [Leave]: an answer goes out; its outcome is on disk. [Again]: a stored one of this ledger
      goes out again, by any process. (Those of before a restoring: ledger_replays.v.)
    - [Crash p]: process p forgets all, and its transaction is undone. A crash between the commit and the handing out is
      a [Commit] and then a [Crash]. To resume is to go on: all else is read from the disk.
    - [Restore]: from any backup, with servers stopped ([ledger/backup.py]). One entry charges at least what was charged
      since, if that is stated, or all that is left if no ledger ever had a larger budget than the backup's. Other
      statements are refused here: they are the owner's to make rightly.

    [loss_outside w]: the loss of all that has left, from this ledger and from those that were lost. This file keeps the
    [sums]; the theorems are in ledger_answers.v. *)

From mathcomp Require Import all_ssreflect ssralg ssrnum ssrint rat.
From Sparsegate Require Import ledger_gates ledger ledger_refunds.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** What a piece hands to its caller when it is on disk: an ask was intended (None), or settled. *)
Definition result := (nat * nat * option bool)%type.

Record transaction := Transaction { writer : nat; sees : ledger; results : seq result }.

Record world := World {
  disk : ledger;
  writing : option transaction;              (* one write lock *)
  handed : seq (nat * result);               (* in the memory of each process *)
  outside : seq (nat * nat * nat * bool);    (* the answers that have left: which ledger, entry, ask, outcome *)
  gone : seq ledger;                         (* ledgers that were lost, oldest first, as they were at their end *)
  backups : seq (ledger * rat);              (* and what was charged in all until then *)
  overdrawn : bool }.                        (* at the last restoring more was stated than was left *)

Definition start b := World (create b) None [::] [::] [::] [::] false.

Definition charged_ever w := \sum_(s <- gone w) charged_since s + charged_since (disk w).
Definition largest_budget w := largest [seq budget s | s <- disk w :: gone w].

Definition result_of e s : seq result := match e with
  | Intend n => if paid_for (entry s n) is Holds g then [:: (n, size (asks g), None)] else [::]
  | Settle n k o => [:: (n, k, Some o)]
  | _ => [::]
  end.

(** [backup.restore]: one entry for what was charged since, and nothing of before answers or goes back any more. *)
Definition shut_line l := if paid_for l is Holds g then
  Line (kind l) (amount l) (back l) (Holds (Gate (law g) (asks g) true false)) else l.
Definition restored_ledger d x :=
  Ledger (budget d) (rcons (map shut_line (lines d)) (Line RESTORE x None Nothing)) (size (lines d)).+1.
Definition all_that_is_left d := Num.max (budget d - spent d) 0.

Inductive world_event :=
  | Begin of nat | Piece of nat & ledger_event | Commit of nat | Abort of nat
  | Leave of nat & nat & nat & bool | Again of nat & nat & bool
  | Crash of nat | BackUp | Restore of nat & option rat.

Definition in_transaction p w (f : transaction -> world) :=
  if writing w is Some t then if writer t == p then f t else w else w.
Definition with_writing w t :=
  World (disk w) t (handed w) (outside w) (gone w) (backups w) (overdrawn w).
Definition with_handed w h :=
  World (disk w) (writing w) h (outside w) (gone w) (backups w) (overdrawn w).
Definition hand_out w n k o :=
  World (disk w) (writing w) (handed w) ((size (gone w), n, k, o) :: outside w) (gone w) (backups w) (overdrawn w).

(** Who settles has an intent that is on disk, and uses it once. *)
Definition may p w e := if e is Settle n k _ then (p, (n, k, None)) \in handed w else true.
Definition used p e (h : seq (nat * result)) := if e is Settle n k _ then rem (p, (n, k, None)) h else h.

Definition restore w i since :=
  if (i < size (backups w))%N then
    let: (d, charged_then) := nth (create 0, 0) (backups w) i in
    let x := if since is Some y then y else all_that_is_left d in
    let s := restored_ledger d x in
    if (0 <= x) && (if since is Some y then charged_ever w - charged_then <= y else largest_budget w <= budget d) then
      World s None [::] (outside w) (rcons (gone w) (disk w)) (backups w) (budget s < spent s)
    else w
  else w.

Definition next_world w e := match e with
  | Begin p => if writing w is None then with_writing w (Some (Transaction p (disk w) [::])) else w
  | Piece p e => in_transaction p w (fun t =>
      if may p w e then
        let w' := with_handed w (used p e (handed w)) in
        if apply e (sees t) is Some s then
          with_writing w' (Some (Transaction p s (results t ++ result_of e (sees t)))) else w'
      else w)
  | Commit p => in_transaction p w (fun t =>
      World (sees t) None (handed w ++ [seq (p, x) | x <- results t]) (outside w) (gone w) (backups w) (overdrawn w))
  | Abort p => in_transaction p w (fun _ => with_writing w None)
  | Leave p n k o => if (p, (n, k, Some o)) \in handed w then hand_out w n k o else w
  | Again n k o => if paid_for (entry (disk w) n) is Holds g then
      if (restored (disk w) <= n)%N && (now (nth intended (asks g) k) == Some o) then hand_out w n k o else w
      else w
  | Crash p => with_handed (in_transaction p w (fun _ => with_writing w None)) [seq x <- handed w | x.1 != p]
  | BackUp => World (disk w) (writing w) (handed w) (outside w) (gone w) ((disk w, charged_ever w) :: backups w) (overdrawn w)
  | Restore i since => restore w i since
  end.
Definition world_after b es := foldl next_world (start b) es.

Definition loss_outside w := \sum_(s <- gone w) ledger_loss s + ledger_loss (disk w).
Definition net_of w := \sum_(s <- gone w) net_since s + net_since (disk w).

(** ** The sums *)

Record sums (w : world) : Prop := Sums {
  disk_sound : sound (disk w);
  gone_sound : forall i, (i < size (gone w))%N -> sound (nth (create 0) (gone w) i);
  gone_counted : \sum_(s <- gone w) net_since s <= old (disk w);
  net_within : net_of w <= largest_budget w;
  backed_up : forall i, (i < size (backups w))%N -> let: (d, t) := nth (create 0, 0) (backups w) i in
    sound d /\ net_of w <= spent d + (charged_ever w - t);
  not_overdrawn : ~~ overdrawn w -> spent (disk w) <= budget (disk w) }.

Definition with_disk w s := World s None [::] [::] (gone w) (backups w) (overdrawn w).

Lemma sums_ext w w' : disk w' = disk w -> gone w' = gone w -> backups w' = backups w -> overdrawn w' = overdrawn w ->
  sums w -> sums w'.
Proof.
case: w w' => d t h o g b v [d' t' h' o' g' b' v'] /= -> -> -> -> [*]; split=> //.
Qed.

Lemma sums_start b : 0 <= b -> sums (start b).
Proof.
move=> b_ge0; split=> //=.
- by rewrite big_nil /old big_nil.
- by rewrite /net_of /= big_nil /net_since big_nil /largest_budget /= addr0 le_maxr lexx orbT.
- by move=> _; rewrite /spent big_nil.
Qed.

Lemma sums_step w s x : sums w -> step (disk w) s x -> sums (with_disk w s).
Proof.
move=> [s_ok g_ok counted within kept fits] st; have [[s'_ok same_r same_old le_net le_b] [x_ge0 same_c guard]] := st.
have [le_spent within'] := step_spent s_ok st.
have le_top : largest_budget w <= largest_budget (with_disk w s).
  by rewrite /largest_budget /= le_maxl !le_maxr le_b lexx orbT.
split=> //=.
- by rewrite same_old.
- case: guard => [x0|guard].
    by apply: le_trans le_top; apply: le_trans within; rewrite /net_of /= ler_add2l; rewrite x0 addr0 in le_net.
  rewrite /largest_budget /= le_maxr; apply/orP; left; apply: le_trans le_b; apply: le_trans guard.
  by rewrite /net_of /= spent_split // -addrA ler_add.
- move=> i lt; have := kept i lt; case: nth => d t [d_ok le]; split=> //.
  rewrite /net_of /charged_ever /= same_c; move: le; rewrite /net_of /charged_ever => le.
  apply: le_trans (ler_add (lexx _) le_net) _; rewrite [X in X <= _]addrA.
  by apply: le_trans (ler_add le (lexx x)) _; rewrite -!addrA (addrC x).
- by move=> ok; apply: within'; apply: fits.
Qed.

Lemma sums_run w es : sums w -> sums (with_disk w (run_ledger (disk w) es)).
Proof.
elim: es w => [|e es IH] w w_ok /=; first exact: sums_ext w_ok.
have [x st] := after_step e (disk_sound w_ok).
by have := IH _ (sums_step w_ok st).
Qed.

Lemma sums_counted w : sums w -> net_of w <= spent (disk w).
Proof. by move=> w_ok; rewrite spent_split ?ler_add2r ?(gone_counted w_ok) //; apply: disk_sound. Qed.

Lemma sums_backup w : sums w -> sums (next_world w BackUp).
Proof.
move=> w_ok; have [s_ok g_ok counted within kept fits] := w_ok; split=> //.
case=> [_|i] /=; last exact: kept.
by split=> //; rewrite [charged_ever (World _ _ _ _ _ _ _)]/(charged_ever w) subrr addr0; exact: sums_counted w_ok.
Qed.

Lemma largest_ge0 xs : 0 <= largest xs.
Proof. by elim: xs => //= x xs IH; rewrite le_maxr IH orbT. Qed.

Lemma restored_entry d x n : (n < size (lines d))%N -> entry (restored_ledger d x) n = shut_line (entry d n).
Proof. by move=> lt; rewrite /entry /= nth_rcons size_map lt (nth_map no_line). Qed.

Lemma restored_sum d x (F : line -> rat) : \sum_(restored (restored_ledger d x) <= n <
  size (lines (restored_ledger d x))) F (entry (restored_ledger d x) n) = 0.
Proof. by rewrite /= size_rcons size_map big_geq. Qed.

Lemma restored_old d x : old (restored_ledger d x) = spent d + x.
Proof.
rewrite /old /= big_nat_recr //= {2}/entry /= nth_rcons size_map ltnn eqxx /net /given_back /= subr0; congr (_ + _).
apply: eq_big_nat => n /andP[_ lt]; rewrite restored_entry // /shut_line.
by case: (entry d n) => ? ? ? [|?|?].
Qed.

Lemma restored_sound d x : sound d -> sound (restored_ledger d x).
Proof.
move=> [_ ok]; split=> [|n]; rewrite /= size_rcons size_map // => lt; rewrite /restored_after /= lt.
move: lt; rewrite ltnS leq_eqVlt => /orP[/eqP-> | lt]; first by rewrite /entry /= nth_rcons size_map ltnn eqxx.
rewrite restored_entry //; have := ok n lt; case: (entry d n) => k y b [|z|g] //=; rewrite /frozen /shut_line /=.
by case: ifP => _; [case/and3P | case=> _ []].
Qed.

Lemma sums_restore w i since : sums w -> sums (restore w i since).
Proof.
move=> w_ok; have [s_ok g_ok counted within kept fits] := w_ok; rewrite /restore; case: ifP => // lt.
have := kept i lt; case: nth => d t [d_ok le]; set x := (if since is Some y then y else _).
case: ifP => // /andP[x_ge0 enough]; set s := restored_ledger d x.
have paid : net_of w <= spent d + x.
  rewrite /x; case: since @x enough {x_ge0} @s => [y|] x enough s.
    by apply: le_trans le _; rewrite ler_add2l.
  apply: le_trans within _; apply: le_trans enough _; rewrite -ler_subl_addl /all_that_is_left.
  by rewrite le_maxr lexx.
have net0 : net_since s = 0 := restored_sum d x net.
have charged0 : charged_since s = 0 := restored_sum d x amount.
have same_net v : net_of (World s None [::] (outside w) (rcons (gone w) (disk w)) (backups w) v) = net_of w.
  by rewrite /net_of /= -cats1 big_cat big_seq1 net0 addr0.
have same_total v : charged_ever (World s None [::] (outside w) (rcons (gone w) (disk w)) (backups w) v) = charged_ever w.
  by rewrite /charged_ever /= -cats1 big_cat big_seq1 charged0 addr0.
split=> //=.
- exact: restored_sound.
- move=> j; rewrite size_rcons nth_rcons ltnS leq_eqVlt => /orP[/eqP->|lt_j]; first by rewrite ltnn eqxx.
  by rewrite lt_j; apply: g_ok.
- by rewrite restored_old -cats1 big_cat big_seq1.
- rewrite same_net; apply: le_trans within _; apply: largest_le (largest_ge0 _) _ => y y_in.
  by apply: le_largest; move: y_in; rewrite /= map_rcons !in_cons mem_rcons in_cons => ->; rewrite orbT.
- by move=> j lt_j; have := kept j lt_j; case: nth => d' t'; rewrite same_net same_total.
- by rewrite -leNgt.
Qed.

Lemma loss_le_net_of w : sums w -> loss_outside w <= net_of w.
Proof.
move=> w_ok; apply: ler_add; last exact: loss_le_net (disk_sound w_ok).
rewrite !(big_nth (create 0)); apply: ler_sum_nat => i /andP[_ lt].
exact: loss_le_net (gone_sound w_ok lt).
Qed.
