(** * Transcripts: how neighbours move, what was said after what, and how likely it was

    - [moves u D d]: an answer moves by [d] between two neighbouring data sets: by at most [D] either
      way ([Any], general questions), or up only, or down only. The answers to monotonic questions
      all move up or all move down.
    - [neighbours monotonic D q q']: the answers [q h] and [q' h] to what is asked after the history
      [h] move so, whatever [h]. [sides monotonic] is s: 2 for general questions, 1 for monotonic.
    - [contexts h t]: the answers of [t], each with the history that it was given after.
    - [likelihood mu f l]: the probability of the answers in the list [l] of (history, answer), where
      the secret x ~ mu is drawn once and [f h x] is the law of an answer after [h]:
        sum over x of mu x * product over (h, a) in l of f h x a.
      A gate's transcript has this probability ([gate_likelihood]); so have the answers of one gate
      of many, where the histories are those of all of them ([side_by_side.v]).

    Nothing is exported from here; the gates with one-sided noise, with gaps, and side by side use it.
    [likelihood_aligned]: rho is matched with rho + d; what that costs rho, and what it costs each
    answer of [l], adds up. *)

From Sparsegate Require Import prelude privacy sums gate laplace_gate standard_gate.
Local Open Scope ring_scope.

Inductive way := Any | Up | Down.

Definition moves (u : way) (D : nat) (d : int) :=
  match u with
  | Any => `|d| <= D%:Z
  | Up => 0 <= d <= D%:Z
  | Down => - D%:Z <= d <= 0
  end.

(** How far apart two answers may move, in units of [D]. *)
Definition reach (u : way) : nat := if u is Any then 2%N else 1%N.

Definition sides (monotonic : bool) : nat := if monotonic then 1%N else 2%N.

Definition neighbours (A : eqType) (monotonic : bool) (D : nat) (q q' : seq A -> int) :=
  near D q q' /\ (monotonic -> one_way q q').

Lemma neighbours_move (A : eqType) monotonic D (q q' : seq A -> int) :
  neighbours monotonic D q q' ->
  exists2 u, forall h, moves u D (q' h - q h) & reach u = sides monotonic.
Proof.
case: monotonic => [[qq' one]|[qq' _]]; last by exists Any.
have [up|down] := one isT; [exists Up => // h|exists Down => // h]; have := qq' h; rewrite ler_norml.
- by case/andP=> _ hi; rewrite /= subr_ge0 up.
by case/andP=> lo _; rewrite /= lo subr_le0 down.
Qed.

Lemma moves_bound u D d : moves u D d -> (- D%:Z <= d) /\ (d <= D%:Z).
Proof.
case: u => /=; rewrite ?ler_norml => /andP[lo hi]; split=> //.
- by apply: le_trans lo; rewrite oppr_le0.
- exact: le_trans hi _.
Qed.

Section Likelihood.
Context {R : realType} {H A S : choiceType}.
Implicit Types (f g : H -> S -> {distr A / R}) (l : seq (H * A)).

Definition given f x l : R := \prod_(y <- l) f y.1 x y.2.

Definition likelihood (mu : {distr S / R}) f l : R := psum (fun x => mu x * given f x l).

Lemma given_ge0 f x l : 0 <= given f x l.
Proof. by apply: prodr_ge0. Qed.

Lemma given_le1 f x l : given f x l <= 1.
Proof.
rewrite /given; elim: l => [|y l IH]; rewrite ?big_nil ?big_cons //.
by rewrite mulr_ile1 ?le1_mu1 ?prodr_ge0.
Qed.

Lemma summable_given (mu : {distr S / R}) f l : summable (fun x => mu x * given f x l).
Proof.
apply: le_summable (summable_mu mu) => x.
by rewrite mulr_ge0 ?given_ge0 //= ler_pimulr // given_le1.
Qed.

End Likelihood.

Section Alignment.
Context {R : realType} {H A : choiceType}.
Implicit Types (f g : H -> int -> {distr A / R}) (l : seq (H * A)).

Lemma likelihood_aligned (mu : {distr int / R}) f g l (d : int) (c1 : R) (w : H * A -> R) :
  (forall rho, mu rho <= expR c1 * mu (rho + d)) ->
  {in l, forall y rho, f y.1 rho y.2 <= expR (w y) * g y.1 (rho + d) y.2} ->
  likelihood mu f l <= expR (c1 + \sum_(y <- l) w y) * likelihood mu g l.
Proof.
move=> mu_d fg; apply: (psum_le_shift (d := d)) (summable_given _ _ _).
- exact: ltW (expR_gt0 _).
- by move=> rho; rewrite mulr_ge0 ?given_ge0.
move=> rho; rewrite expRD mulrACA; apply: ler_pmul => //; first exact: given_ge0.
elim: l fg => [|y l IH] fg; first by rewrite /given !big_nil expR0 mulr1.
rewrite /given !big_cons expRD mulrACA; apply: ler_pmul => //; first exact: given_ge0.
- by apply: fg; rewrite inE eqxx.
by apply: IH => z zl; apply: fg; rewrite inE zl orbT.
Qed.

End Alignment.

Section Transcripts.
Context {R : realType} {A : choiceType}.
Implicit Types (above : pred A) (h t : seq A).

Fixpoint contexts h t := if t is a :: t' then (h, a) :: contexts (rcons h a) t' else [::].

Lemma contexts_answers h t : [seq y.2 | y <- contexts h t] = t.
Proof. by elim: t h => //= a t IH h; rewrite IH. Qed.

Lemma gate_likelihood (mu : {distr int / R}) closed step n t :
  gate mu closed step n t = (complete closed n [::] t)%:R * likelihood mu step (contexts [::] t).
Proof.
rewrite gate_product; congr (_ * _); apply: eq_psum => rho; congr (_ * _).
elim: t [::] => [|a t IH] h /=; first by rewrite /given big_nil.
by rewrite /given big_cons IH.
Qed.

(** Whatever bounds the likelihood of the transcripts that a gate can give bounds its law. *)
Lemma gate_by_likelihood (mu : {distr int / R}) closed f g n t (x : R) :
  (complete closed n [::] t ->
   likelihood mu f (contexts [::] t) <= expR x * likelihood mu g (contexts [::] t)) ->
  gate mu closed f n t <= expR x * gate mu closed g n t.
Proof.
rewrite !gate_likelihood; case: complete => [le|_]; first by rewrite !mul1r; apply: le.
by rewrite !mul0r mulr0.
Qed.

End Transcripts.

(** A cost x for each positive and y for each other answer. *)
Lemma sum_by_kind {R : realType} {H A : choiceType} (above : pred A) (x y : R) (l : seq (H * A)) :
  \sum_(z <- l) (if above z.2 then x else y) =
  (count above [seq z.2 | z <- l])%:R * x + (count (predC above) [seq z.2 | z <- l])%:R * y.
Proof.
elim: l => [|z l IH] /=; first by rewrite big_nil !mul0r addr0.
rewrite big_cons IH; case: (above z.2); rewrite /= ?add0n !natrD !mulrDl !mul1r ?addrA //.
by rewrite [y + _]addrC -!addrA [y + _]addrC.
Qed.

(** With r = eps2 / (s c), the k <= c positives of a transcript cost s r each, and no more than eps2
    together: a gate that closes after the c-th positive is (eps1 + eps2)-DP. *)
Lemma private_by_positives {R : realType} {A : choiceType} monotonic (eps1 eps2 : R) (D c n : nat)
  (above : pred A) (mu : {distr int / R}) (f g : seq A -> int -> {distr A / R}) (q q' : seq A -> int) :
  0 < eps2 -> (0 < c)%N -> neighbours monotonic D q q' ->
  (forall u t, (forall h, moves u D (q' h - q h)) ->
     gate mu (closed_after above c) f n t <=
     expR (eps1 + (count above t)%:R * ((reach u)%:R * (eps2 / (sides monotonic * c)%:R))) *
     gate mu (closed_after above c) g n t) ->
  within (eps1 + eps2) (gate mu (closed_after above c) f n) (gate mu (closed_after above c) g n).
Proof.
move=> eps2_gt0 c0 /neighbours_move[u mv s_u] le; apply: gate_within => t le_c.
apply: le_trans (le u t mv) _; rewrite ler_wpmul2r // ler_expR ler_add2l s_u natrM invfM.
have s0 : (sides monotonic)%:R != 0 :> R by case: (monotonic); rewrite pnatr_eq0.
rewrite (mulrCA _ eps2) mulVKf // mulrCA ger_pmulr // ler_pdivr_mulr ?ltr0n //.
by rewrite mul1r ler_nat.
Qed.
