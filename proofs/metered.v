(** * Metered gates under one budget

    Gates side by side ([side_by_side.v]) under a ledger that counts what each of them costs.

    - [budget p]: what a gate with the numbers [p] is charged when it is opened; [valid p]: whether
      such a gate may be opened at all.
    - [loss p s]: what the gate has cost if it has said [s]. [ended p s]: it answers no more after [s].
      [allowed p s]: it can have said [s], since it had not ended before the last of these answers.
    - [counted h]: what the ledger counts after [h]: the budget of every gate that may still be asked,
      the loss of every gate that was shut. The rest of its budget went back then.
    - [admitted h a]: a gate is opened only if its budget fits into what is left of [B]; it is asked
      only if it was opened, not shut, and has not ended. [filtered act] stops at what is not admitted.

    [metered_is_private]: let e^(loss p s) bound the likelihood ratio of the answers [s] to any
    questions, and the loss never pass the budget. Then the whole history, of all gates together and
    however they were interleaved, is B-DP. [metered_sums_to_one]: it is a whole law.

    The argument: [sound_history] holds after every step, the count never passes B. A gate counts with at least
    its loss, shut or not, so the losses of a history sum to at most B; and losses add.

    Of the code: a gate that was lost in a crash is one that is never asked and never shut. A gate may
    give back less than here; it then counts with more. *)

From Sparsegate Require Import prelude privacy gate transcripts side_by_side.
Local Open Scope ring_scope.

Section Filter.
Context {R : realType} {P A S : choiceType}.
Notation history := (@history P A).
Notation action := (@action P).
Implicit Types (h t : history) (act : history -> action) (p : P) (s : seq A).
Implicit Types (f g : P -> history -> S -> {distr A / R}).
Variables (mu : P -> {distr S / R}) (valid : pred P) (budget : P -> R).
Variables (loss : P -> seq A -> R) (ended : P -> seq A -> bool) (B : R).

(** What gate [i] has said. *)
Definition answers i h := [seq x.2 | x <- asked i [::] h].

(** What the ledger counts: the budget of a gate that may still answer, the loss of a shut one. *)
Definition counted h : R :=
  \sum_(x <- numbered (gates h))
    (if shut x.1 \in h then loss x.2 (answers x.1 h) else budget x.2).

Definition admitted h (a : action) :=
  match a with
  | Open p => valid p && (counted h + budget p <= B)
  | Ask i => (shut i \notin h) && (if entry_at (gates h) i is Some p then ~~ ended p (answers i h) else false)
  | _ => true
  end.

Definition filtered act h := if admitted h (act h) then act h else @Stop P.

Definition metered act f n := joint mu (filtered act) f n [::] [::].

Definition allowed p s := all (fun i => ~~ ended p (take i s)) (iota 0 (size s)).

Lemma allowed_rcons p s a : allowed p s -> ~~ ended p s -> allowed p (rcons s a).
Proof.
move=> ok more; rewrite /allowed size_rcons -addn1 iotaD all_cat /= andbT add0n.
rewrite -cats1 take_size_cat // more andbT; apply/allP => i i_in.
have := allP ok i i_in; move: i_in; rewrite mem_iota add0n /= => lt_i.
by rewrite take_cat lt_i.
Qed.

Lemma answers_rcons i h e :
  answers i (rcons h e) =
  if e is inl (inr (j, a)) then if j == i then rcons (answers i h) a else answers i h
  else answers i h.
Proof.
by rewrite /answers asked_rcons; case: e => [[]|] // [j a]; case: eqP; rewrite ?map_rcons.
Qed.

Lemma gates_rcons h e :
  gates (rcons h e) = if e is inl (inl p) then rcons (gates h) p else gates h.
Proof. by rewrite /gates -cats1 pmap_cat /=; case: e => [[p|]|] /=; rewrite ?cats1 ?cats0. Qed.

(** What holds all along: the count is within [B], and every gate has said only what it might. *)
Definition sound_history h :=
  [/\ counted h <= B,
      forall i, (size (gates h) <= i)%N -> answers i h = [::] &
      {in numbered (gates h), forall x, valid x.2 && allowed x.2 (answers x.1 h)}].

Hypothesis loss_le_budget : forall p s, valid p -> allowed p s -> loss p s <= budget p.

Lemma sound_open h p : sound_history h -> admitted h (Open p) -> sound_history (rcons h (opened p)).
Proof.
move=> [count_le none ok] /andP[valid_p le]; have new : answers (size (gates h)) h = [::].
  exact: none.
have same i : answers i (rcons h (opened p)) = answers i h by rewrite answers_rcons.
have shut_same i : (shut i \in rcons h (opened p)) = (shut i \in h).
  by rewrite mem_rcons inE.
split.
- rewrite /counted gates_rcons numbered_rcons big_cat big_seq1 /= add0n.
  under eq_bigr do rewrite shut_same same.
  apply: le_trans le; apply: ler_add; first exact: lexx.
  case: ifP => _; last exact: lexx.
  by rewrite same new; apply: loss_le_budget.
- by move=> i; rewrite gates_rcons size_rcons same => /ltnW/none.
move=> x; rewrite gates_rcons numbered_rcons mem_cat inE same => /orP[/ok//|/eqP->].
by rewrite /= new valid_p.
Qed.

Lemma sound_ask h i a : sound_history h -> admitted h (@Ask P i) -> sound_history (rcons h (said i a)).
Proof.
move=> [count_le none ok] /= /andP[unshut].
case gi: (entry_at (gates h) i) => [p|//] more; have i_lt := entry_size gi.
have shut_same j : (shut j \in rcons h (said i a)) = (shut j \in h) by rewrite mem_rcons inE.
have same j : j != i -> answers j (rcons h (said i a)) = answers j h.
  by move=> ne; rewrite answers_rcons /= eq_sym (negbTE ne).
split.
- rewrite /counted gates_rcons; under eq_bigr do rewrite shut_same.
  rewrite (eq_bigr (fun x => if shut x.1 \in h then loss x.2 (answers x.1 h) else budget x.2)) //.
  move=> x _; case: ifP => // x_shut; rewrite same //; apply: contraNneq unshut => <-.
  exact: x_shut.
- move=> j; rewrite gates_rcons /= => le_j; rewrite same ?none //.
  by rewrite neq_ltn (leq_trans i_lt le_j) orbT.
move=> x; rewrite gates_rcons /= => x_in; have /andP[-> all_x] := ok x x_in.
have [xi|ne] := eqVneq x.1 i; last by rewrite same.
rewrite answers_rcons /= xi eqxx -xi allowed_rcons //.
by move: (numbered_entry x_in) gi; rewrite xi => -> [->].
Qed.

Lemma sound_close h i : sound_history h -> sound_history (rcons h (shut i)).
Proof.
move=> [count_le none ok].
have same j : answers j (rcons h (shut i)) = answers j h by rewrite answers_rcons.
split.
- apply: le_trans count_le; rewrite /counted gates_rcons /= !big_seq.
  apply: ler_sum => x x_in; rewrite mem_rcons inE same.
  have /andP[valid_x all_x] := ok x x_in.
  have := loss_le_budget valid_x all_x.
  by case: (shut x.1 \in h); rewrite ?orbT // orbF; case: ifP.
- by move=> j; rewrite gates_rcons same => /none.
by move=> x; rewrite gates_rcons same => /ok.
Qed.

Lemma follows_sound act n h t :
  follows (filtered act) n h (size (gates h)) t -> sound_history h -> sound_history (h ++ t).
Proof.
elim: n h t => [|n IH] h [|e t] //=; rewrite ?cats0 //.
have next e' : sound_history (rcons h e') -> follows (filtered act) n (rcons h e') (size (gates (rcons h e'))) t ->
    sound_history (h ++ e' :: t) by rewrite -cat_rcons => ok /IH; apply.
rewrite /filtered; case ad: (admitted h (act h)) => //.
case: (act h) ad => [//|p|i|i] ad.
- case/andP=> /eqP-> fo so; apply: next; first exact: sound_open.
  by rewrite gates_rcons size_rcons.
- case: e => [[//|[j a]]|//] /and3P[/eqP-> _ fo] so; apply: next; first exact: sound_ask.
  by rewrite gates_rcons.
case/andP=> /eqP-> fo so; apply: next; first exact: sound_close.
by rewrite gates_rcons.
Qed.

Theorem metered_is_private act f g n :
  0 <= B ->
  (forall p l, valid p -> allowed p [seq x.2 | x <- l] ->
     likelihood (mu p) (f p) l <= expR (loss p [seq x.2 | x <- l]) * likelihood (mu p) (g p) l) ->
  within B (metered act f n) (metered act g n).
Proof.
move=> B_ge0 ratio t; have [fo|nfo] := boolP (follows (filtered act) n [::] 0 t); last first.
  by rewrite /metered !joint_is_product (negbTE nfo) !mul0r mulr0.
have [|count_le _ ok] := follows_sound fo.
  by split; rewrite /counted ?big_nil.
have le : \sum_(x <- numbered (gates t)) loss x.2 (answers x.1 t) <= B.
  apply: le_trans count_le; rewrite /counted big_seq [leRHS]big_seq; apply: ler_sum => x x_in.
  have /andP[valid_x all_x] := ok x x_in.
  by case: ifP => // _; apply: loss_le_budget.
apply: le_trans (_ : _ <= expR (\sum_(x <- numbered (gates t)) loss x.2 (answers x.1 t)) * _) _.
  apply: losses_add => x x_in.
  by have /andP[valid_x all_x] := ok x x_in; apply: ratio.
by rewrite ler_wpmul2r // ler_expR.
Qed.

Theorem metered_sums_to_one act f n :
  (forall p, valid p -> psum (mu p) = 1) -> (forall p h x, valid p -> psum (f p h x) = 1) ->
  psum (metered act f n) = 1.
Proof.
apply: joint_sums_to_one => h p; rewrite /filtered; case ad: admitted => //.
by case: (act h) ad => // p' /andP[valid_p _] [<-].
Qed.

End Filter.
