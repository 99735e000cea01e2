(** * Gates side by side

    Many gates, opened along the way and asked in any order. Whoever asks sees everything that was said,
    by all of them, before the next step.

    - An [event] is: a gate was [opened] with the public numbers [p]; gate number [i] has [said] the
      answer [a]; gate [i] was [shut]. Gates are numbered in the order in which they were opened. A
      [history] is a list of events, oldest first.
    - [act h]: what is done next after [h]: open a gate, ask one, close one, or stop.
    - [mu p]: the law of the secret noise of a gate with the numbers [p], drawn when it is opened.
      [f p h x]: the law of its answer to what is asked after [h], if its secret is [x]. The data set is
      in [f] and nowhere else.
    - [joint act f n [::] [::]]: the law of the history after at most [n] steps. Its last argument
      holds the numbers and the secrets of the gates that were opened.
    - [asked i [::] t]: what gate [i] said in [t], each answer with the history that it was given after.
      [gates t]: the numbers of the gates of [t]. [numbered s]: the list [s] with its places 0, 1, 2, ...

    [joint_is_product]: the probability of a history is the product, over its gates, of the likelihood
    ([transcripts.v]) of what each of them said, if all was done as [act] does it, and else 0.
    [losses_add]: so if the likelihood of what gate i said is within e^(l i) on two data sets, that of
    the whole history is within e^(sum of the l i).
    [joint_sums_to_one]: the program is a whole law where all noise and all answers are.

    A release that is no gate is one with a single question; a coin of whoever asks is a gate whose
    answers do not look at the data, at no loss. *)

From Sparsegate Require Import prelude privacy sums gate transcripts.
Local Open Scope ring_scope.

Section Numbered.
Variables (R : realType) (T : choiceType).
Implicit Types (s : seq T) (i j : nat).

Definition numbered_from j s := zip (iota j (size s)) s.
Notation numbered := (numbered_from 0).

Lemma numbered_rcons j s x :
  numbered_from j (rcons s x) = numbered_from j s ++ [:: ((j + size s)%N, x)].
Proof.
by rewrite /numbered_from size_rcons -addn1 iotaD !cats1 zip_rcons ?size_iota.
Qed.

Lemma numbered_ge j s x : x \in numbered_from j s -> (j <= x.1)%N.
Proof.
move/(map_f fst); rewrite -/(unzip1 _) unzip1_zip ?size_iota //.
by rewrite mem_iota => /andP[].
Qed.

Definition entry_at s i := ohead (drop i s).

Lemma entry_size s i x : entry_at s i = Some x -> (i < size s)%N.
Proof. by rewrite /entry_at; elim: s i => [|y s IH] [|i] //= /IH. Qed.

Lemma entry_at_in s i x : entry_at s i = Some x -> x \in s.
Proof.
rewrite /entry_at; elim: s i => [|y s IH] [|i] //= => [[->]|/IH]; rewrite inE ?eqxx // => ->.
by rewrite orbT.
Qed.

Lemma entry_none s i : entry_at s i = None -> (size s <= i)%N.
Proof. by rewrite /entry_at; elim: s i => [|y s IH] [|i] //= /IH. Qed.

Lemma numbered_entry s x : x \in numbered s -> entry_at s x.1 = Some x.2.
Proof.
suff : forall j, x \in numbered_from j s -> entry_at s (x.1 - j) = Some x.2.
  by move=> h /h; rewrite subn0.
elim: s => [|y s IH] j //; rewrite [numbered_from _ _]/= inE => /orP[/eqP->|x_in].
  by rewrite subnn.
by have lt := numbered_ge x_in; rewrite -(subnSK lt); apply: IH.
Qed.

Lemma prod_at (u : T -> R) j s i : (j <= i)%N ->
  \prod_(x <- numbered_from j s) (if x.1 == i then u x.2 else 1) =
  if entry_at s (i - j) is Some x then u x else 1.
Proof.
elim: s j => [|y s IH] j le_ji; first by rewrite big_nil.
rewrite [numbered_from _ _]/= big_cons /= -/(numbered_from _ _).
have [->|ne] := eqVneq j i; last first.
  have lt_ji : (j < i)%N by rewrite ltn_neqAle ne.
  by rewrite IH // mul1r -(subnSK lt_ji).
rewrite subnn /= big_seq big1 ?mulr1 // => -[k x] kx /=.
by have := numbered_ge kx; case: eqP => // ->; rewrite ltnn.
Qed.

End Numbered.
Notation numbered := (numbered_from 0).

(** ** The joint program *)

Section Joint.
Context {R : realType} {P A S : choiceType}.

Definition event := [choiceType of (P + nat * A + nat)%type].
Definition opened (p : P) : event := inl (inl p).
Definition said (i : nat) (a : A) : event := inl (inr (i, a)).
Definition shut (i : nat) : event := inr i.
Definition history := seq event.

Inductive action := Stop | Open of P | Ask of nat | Close of nat.

Implicit Types (h t : history) (ss : seq (P * S)) (act : history -> action).
Implicit Types (f g : P -> history -> S -> {distr A / R}).
Variable mu : P -> {distr S / R}.

Fixpoint joint act f n h ss : {distr history / R} :=
  if n is n'.+1 then
    match act h with
    | Stop => dunit h
    | Open p => \dlet_(s <- mu p) joint act f n' (rcons h (opened p)) (rcons ss (p, s))
    | Ask i =>
        if entry_at ss i is Some (p, s) then
          \dlet_(a <- f p h s) joint act f n' (rcons h (said i a)) ss
        else dunit h
    | Close i => joint act f n' (rcons h (shut i)) ss
    end
  else dunit h.

(** Whether the events [t] are what follows [h] if the analyst acts so, with [k] gates open. *)
Fixpoint follows act n h k t :=
  match n, t with
  | 0, _ => t == [::]
  | n'.+1, [::] =>
      match act h with Stop => true | Ask i => (k <= i)%N | _ => false end
  | n'.+1, e :: t' =>
      match act h with
      | Stop => false
      | Open p => (e == opened p) && follows act n' (rcons h e) k.+1 t'
      | Ask i => if e is inl (inr (j, a)) then [&& j == i, (i < k)%N & follows act n' (rcons h e) k t']
                 else false
      | Close i => (e == shut i) && follows act n' (rcons h e) k t'
      end
  end.

(** What gate [i] was asked, and said, in the events [t] after [h]. *)
Fixpoint asked i h t : seq (history * A) :=
  if t is e :: t' then
    let rest := asked i (rcons h e) t' in
    if e is inl (inr (j, a)) then if j == i then (h, a) :: rest else rest else rest
  else [::].

Lemma asked_rcons i h t e :
  asked i h (rcons t e) =
  if e is inl (inr (j, a)) then
    if j == i then rcons (asked i h t) (h ++ t, a) else asked i h t
  else asked i h t.
Proof.
elim: t h => [|e' t IH] h /=; first by rewrite cats0.
rewrite {}IH cat_rcons; case: e => [[p|[j a]]|j] //.
by case: e' => [[p|[j' a']]|j'] //; case: eqP; case: eqP.
Qed.

Definition gates t : seq P := pmap (fun e : event => if e is inl (inl p) then Some p else None) t.

Definition history_weight f h ss t :=
  \prod_(x <- numbered ss) given (f x.2.1) x.2.2 (asked x.1 h t) *
  \prod_(x <- numbered_from (size ss) (gates t)) likelihood (mu x.2) (f x.2) (asked x.1 h t).

Lemma history_weight_ge0 f h ss t : 0 <= history_weight f h ss t.
Proof.
by apply: mulr_ge0; apply: prodr_ge0 => x _; [apply: given_ge0 | apply: ge0_psum].
Qed.

Lemma joint_extends act f n h ss x : joint act f n h ss x != 0 -> prefix h x.
Proof.
have stop h' : dunit h' x != 0 :> R -> prefix h' x.
  by rewrite dunit1E pnatr_eq0 eqb0 negbK => /eqP ->; apply: prefix_refl.
have further h' e : prefix (rcons h' e) x -> prefix h' x.
  by apply: prefix_trans; apply: prefix_rcons.
elim: n h ss => [|n IH] h ss /=; first exact: stop.
case: (act h) => [|p|i|i]; first exact: stop.
- rewrite dletE => /eqP/neq0_psum[s /eqP].
  by rewrite mulf_eq0 negb_or => /andP[_ /IH /further].
- case: entry_at => [[p s]|]; last exact: stop.
  rewrite dletE => /eqP/neq0_psum[a /eqP].
  by rewrite mulf_eq0 negb_or => /andP[_ /IH /further].
by move/IH/further.
Qed.

Lemma joint_off act f n h e ss t :
  ohead t <> Some e -> joint act f n (rcons h e) ss (h ++ t) = 0.
Proof.
move=> ne; apply/eqP; apply: contraT => /joint_extends; rewrite -cats1 prefix_catr // eqxx /=.
by case: t ne => [|e' t] ne //=; rewrite prefix0s andbT => /eqP ee; case: ne; rewrite ee.
Qed.

Lemma history_weight_nil f h ss : history_weight f h ss [::] = 1.
Proof. by rewrite /history_weight /= big_nil mulr1 big1 // => x _; rewrite /given big_nil. Qed.

Lemma history_weight_open f h ss p t :
  history_weight f h ss (opened p :: t) =
  psum (fun s => mu p s * history_weight f (rcons h (opened p)) (rcons ss (p, s)) t).
Proof.
rewrite {1}/history_weight /gates [numbered_from _ (pmap _ _)]/= big_cons /= mulrA mulrAC.
set old := \prod_(x <- _) _; set new := \prod_(x <- _) _.
rewrite /likelihood -psumZ; last first.
  by apply: mulr_ge0; apply: prodr_ge0 => x _; [apply: given_ge0 | apply: ge0_psum].
apply: eq_psum => s; rewrite /= /history_weight numbered_rcons big_cat big_seq1 /= add0n size_rcons.
by rewrite -/old -/new mulrCA [in RHS]mulrAC.
Qed.

Lemma history_weight_ask f h ss i p s a t :
  entry_at ss i = Some (p, s) ->
  history_weight f h ss (said i a :: t) = f p h s a * history_weight f (rcons h (said i a)) ss t.
Proof.
move=> ss_i; have i_lt := entry_size ss_i; set h' := rcons h _.
have step x l : given (f x.2.1) x.2.2 (if i == x.1 then (h, a) :: l else l) =
    (if x.1 == i then f x.2.1 h x.2.2 a else 1) * given (f x.2.1) x.2.2 l.
  by rewrite eq_sym /given; case: eqP; rewrite ?big_cons ?mul1r.
rewrite /history_weight mulrA; congr (_ * _).
- under eq_bigr do rewrite /= -/h' step.
  by rewrite big_split /= (prod_at (fun x => f x.1 h x.2 a)) // subn0 ss_i.
rewrite /= -/h' big_seq [RHS]big_seq; apply: eq_bigr => x /numbered_ge le_x.
by rewrite ltn_eqF // (leq_trans i_lt).
Qed.

Lemma history_weight_close f h ss i t : history_weight f h ss (shut i :: t) = history_weight f (rcons h (shut i)) ss t.
Proof. by []. Qed.

(** The program's law is [history_weight], wherever the analyst acts so. *)
Lemma joint_weight act f n h ss t :
  joint act f n h ss (h ++ t) = (follows act n h (size ss) t)%:R * history_weight f h ss t.
Proof.
have stop h0 ss0 t0 : dunit h0 (h0 ++ t0) = (t0 == [::])%:R * history_weight f h0 ss0 t0.
  rewrite dunit1E -{1}[h0]cats0 eqseq_cat // eqxx /= eq_sym.
  by case: eqP => [->|_]; rewrite ?mul0r // history_weight_nil mulr1.
elim: n h ss t => [|n IH] h ss t /=; first exact: stop.
case: (act h) => [|p|i|i].
- by rewrite (stop h ss); case: t.
- rewrite dletE; case: t => [|e t] /=.
    by rewrite mul0r psum_eq0 // => s; rewrite joint_off ?mulr0.
  case: eqP => [->|ne]; last first.
    by rewrite mul0r psum_eq0 // => s; rewrite joint_off ?mulr0 // => -[].
  rewrite /= history_weight_open -psumZ ?ler0n //; apply: eq_psum => s.
  by rewrite -cat_rcons IH size_rcons mulrCA.
- case ss_i: (entry_at ss i) => [[p s]|]; last first.
    have i_ge := entry_none ss_i; rewrite (stop h ss).
    by case: t => [|[[p|[j a]]|j] t] //=; rewrite ?i_ge // ltnNge i_ge andbF.
  have i_lt := entry_size ss_i; rewrite leqNgt i_lt /= dletE.
  case: t => [|[[p'|[j a]]|j] t] /=; try by rewrite mul0r psum_eq0 // => b; rewrite joint_off ?mulr0.
  case: eqP => [->|ne]; last first.
    by rewrite mul0r psum_eq0 // => b; rewrite joint_off ?mulr0 // => -[].
  rewrite (psum_point (x := a)) ?ger0_norm ?mulr_ge0 //; last first.
    by move=> b /eqP ne; rewrite joint_off ?mulr0 // => -[] /esym.
  by rewrite (history_weight_ask _ _ _ _ ss_i) -cat_rcons IH mulrCA.
case: t => [|e t]; first by rewrite mul0r joint_off.
case: eqP => [->|ne]; last by rewrite mul0r joint_off // => -[].
by rewrite -cat_rcons IH history_weight_close.
Qed.

Theorem joint_is_product act f n t :
  joint act f n [::] [::] t =
  (follows act n [::] 0 t)%:R * \prod_(x <- numbered (gates t)) likelihood (mu x.2) (f x.2) (asked x.1 [::] t).
Proof. by rewrite (joint_weight act f n [::] [::]) /history_weight big_nil mul1r. Qed.

Theorem losses_add act f g n t (l : nat * P -> R) :
  {in numbered (gates t), forall x,
     likelihood (mu x.2) (f x.2) (asked x.1 [::] t) <= expR (l x) * likelihood (mu x.2) (g x.2) (asked x.1 [::] t)} ->
  joint act f n [::] [::] t <=
  expR (\sum_(x <- numbered (gates t)) l x) * joint act g n [::] [::] t.
Proof.
move=> le; rewrite !joint_is_product mulrCA; apply: ler_wpmul2l; first exact: ler0n.
elim: (numbered _) le => [|x s IH] le; first by rewrite !big_nil expR0 mulr1.
rewrite !big_cons expRD mulrACA; apply: ler_pmul; rewrite ?ge0_psum ?prodr_ge0 //.
- by move=> y _; apply: ge0_psum.
- by apply: le; rewrite inE eqxx.
by apply: IH => y ys; apply: le; rewrite inE ys orbT.
Qed.

Theorem joint_sums_to_one act f n (valid : pred P) :
  (forall h p, act h = Open p -> valid p) ->
  (forall p, valid p -> psum (mu p) = 1) -> (forall p h s, valid p -> psum (f p h s) = 1) ->
  psum (joint act f n [::] [::]) = 1.
Proof.
move=> act_ok mu1 f1; suff whole h ss : all (fun x => valid x.1) ss -> psum (joint act f n h ss) = 1 by apply: whole.
elim: n h ss => [|n IH] h ss ok /=; first exact: dunit_sums_to_one.
case a: (act h) => [|p|i|i]; first exact: dunit_sums_to_one.
- have valid_p := act_ok _ _ a; apply: dlet_sums_to_one => [|s]; first exact: mu1.
  by apply: IH; rewrite all_rcons /= valid_p.
- case ss_i: (entry_at ss i) => [[p s]|]; last exact: dunit_sums_to_one.
  have valid_p : valid p by apply: (allP ok (p, s)); apply: entry_at_in ss_i.
  by apply: dlet_sums_to_one => [|b]; [apply: f1 | apply: IH].
exact: IH.
Qed.

End Joint.

