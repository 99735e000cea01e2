(** * The losses of gates that release the gap

    As ledger_losses.v, for the gates that the service opens unless they are two-sided: with each ABOVE they release how
    far it was above the threshold. In the notation of [gates/bounds.py],

<<
    Laplace, general:        min{ (m+k) r,  e1 + 2 r min(k, floor((m+k)/2)) }
    Laplace, monotonic:      the largest over h <= k of min{ (m+h) r, e1 + (k-h) r } and min{ (k-h) r, e1 + (m+h) r }
    exponential, general:    e1 + 2 k r,   m = 0 and k > 0: max{ k r, e1 + 2 (k-1) r },   m = k = 0: 0
    exponential, monotonic:  e1 + k r,     m = 0 and k > 0: max{ k r, e1 + (k-1) r },     m = k = 0: 0
>>

    [gap_losses_grow]: more answers cost more. [gap_losses_are_reserved]: no ask is admitted that could take the cost
    beyond epsilon, whatever becomes of the asks without an outcome. *)

From mathcomp Require Import all_ssreflect ssralg ssrnum ssrint rat.
From Sparsegate Require Import ledger_gates ledger_losses.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Losses.
Variables (e1 r : rat).

Definition laplace_gap_up m k := largest [seq Num.min ((m + h)%:R * r) (e1 + (k - h)%:R * r) | h <- iota 0 k.+1].
Definition laplace_gap_down m k := largest [seq Num.min ((k - h)%:R * r) (e1 + (m + h)%:R * r) | h <- iota 0 k.+1].
Definition laplace_gap_monotonic m k := Num.max (laplace_gap_up m k) (laplace_gap_down m k).
Definition laplace_gap_general m k := Num.min ((m + k)%:R * r) (e1 + (2 * minn k (m + k)./2)%:R * r).
Definition exponential_gap s m k :=
  if (0 < m)%N then e1 + (s * k)%:R * r else if k is k'.+1 then Num.max (k%:R * r) (e1 + (s * k')%:R * r) else 0.
Definition exponential_gap_monotonic := exponential_gap 1.
Definition exponential_gap_general := exponential_gap 2.

Hypotheses (e1_ge0 : 0 <= e1) (r_ge0 : 0 <= r).

Let times_ge0 n : 0 <= n%:R * r. Proof. by rewrite mulr_ge0 ?ler0n. Qed.
Let times_le m n : (m <= n)%N -> m%:R * r <= n%:R * r.
Proof. by move=> le; rewrite ler_wpmul2r // ler_nat. Qed.
Let more_ge0 n : 0 <= e1 + n%:R * r. Proof. by rewrite addr_ge0. Qed.
Let more_le m n : (m <= n)%N -> e1 + m%:R * r <= e1 + n%:R * r.
Proof. by move=> le; rewrite ler_add2l times_le. Qed.
Let more_times m n : (m <= n)%N -> m%:R * r <= e1 + n%:R * r.
Proof. by move=> le; rewrite (le_trans (times_le le)) // ler_addr. Qed.

Lemma gap_list_grows (F G : nat -> rat) k k' : (k <= k')%N -> (forall h, (h <= k)%N -> F h <= G h) ->
  0 <= largest (map G (iota 0 k'.+1)) -> largest (map F (iota 0 k.+1)) <= largest (map G (iota 0 k'.+1)).
Proof.
move=> le_k le pos; apply: largest_le => // x /mapP[h]; rewrite mem_iota ltnS => /andP[_ le_h] ->.
by apply: le_trans (le h le_h) _; apply: le_largest; apply/map_f; rewrite mem_iota ltnS (leq_trans le_h).
Qed.

Lemma largest_pos xs : 0 <= largest xs.
Proof. by elim: xs => //= x xs IH; rewrite le_maxr IH orbT. Qed.

Lemma laplace_gap_monotonic_grows m k m' k' : (m <= m')%N -> (k <= k')%N ->
  laplace_gap_monotonic m k <= laplace_gap_monotonic m' k'.
Proof.
move=> le_m le_k; apply: max_le2; apply: gap_list_grows (largest_pos _) => // h _; apply: min_le2.
- by apply: times_le; rewrite leq_add2r.
- by apply: more_le; apply: leq_sub2r.
- by apply: times_le; apply: leq_sub2r.
- by apply: more_le; rewrite leq_add2r.
Qed.

Lemma laplace_gap_general_grows m k m' k' : (m <= m')%N -> (k <= k')%N ->
  laplace_gap_general m k <= laplace_gap_general m' k'.
Proof.
move=> le_m le_k; apply: min_le2; first by apply: times_le; apply: leq_add.
apply: more_le; rewrite leq_mul2l /= leq_min !geq_min le_k /= half_leq ?orbT //; exact: leq_add.
Qed.

Lemma exponential_gap_le s m k : (0 < s)%N -> exponential_gap s m k <= e1 + (s * k)%:R * r.
Proof.
move=> s_gt0; rewrite /exponential_gap; case: ifP => // _; case: k => [|k]; first by rewrite more_ge0.
by rewrite le_maxl more_le ?leq_mul2l ?leqnSn ?orbT // more_times // leq_pmull.
Qed.

Lemma exponential_gap_grows s m k m' k' : (0 < s)%N -> (m <= m')%N -> (k <= k')%N ->
  exponential_gap s m k <= exponential_gap s m' k'.
Proof.
move=> s_gt0 le_m le_k; case: (ltnP 0 m') => [pos'|zero'].
  rewrite {2}/exponential_gap pos'; apply: le_trans (exponential_gap_le m k s_gt0) _.
  by apply: more_le; rewrite leq_mul2l le_k orbT.
have -> : m' = 0%N by case: m' zero' {le_m}.
have -> : m = 0%N by move: (leq_trans le_m zero'); case: m {le_m}.
rewrite /exponential_gap /=; case: k k' le_k => [|k] [|k'] // le_k; first by rewrite le_maxr times_ge0.
by apply: max_le2; [exact: times_le | apply: more_le; rewrite leq_mul2l -ltnS le_k orbT].
Qed.

Lemma laplace_gap_monotonic_le m k : laplace_gap_monotonic m k <= e1 + k%:R * r.
Proof.
rewrite le_maxl; apply/andP; split; apply: largest_le => // x /mapP[h _ ->]; rewrite le_minl.
- by rewrite more_le ?orbT // leq_subr.
- by rewrite more_times // leq_subr.
Qed.

Lemma laplace_gap_general_le m k : laplace_gap_general m k <= e1 + (2 * k)%:R * r.
Proof. by rewrite le_minl more_le ?orbT // leq_mul2l geq_minl. Qed.

End Losses.

Section Gates.
Variables (e1 r : rat) (c : nat) (most : option nat).
Hypotheses (e1_ge0 : 0 <= e1) (r_ge0 : 0 <= r).

Let eps1_ge0 : 0 <= eps_monotonic e1 r c. Proof. by rewrite addr_ge0 // mulr_ge0 ?ler0n. Qed.
Let eps2_ge0 : 0 <= eps_general e1 r c. Proof. by rewrite addr_ge0 // mulr_ge0 ?ler0n. Qed.

Lemma laplace_gap_monotonic_ge0 m k : 0 <= laplace_gap_monotonic e1 r m k.
Proof. by rewrite le_maxr largest_pos. Qed.

Lemma laplace_gap_general_ge0 m k : 0 <= laplace_gap_general e1 r m k.
Proof. by rewrite le_minr addr_ge0 // ?mulr_ge0 ?ler0n. Qed.

Lemma exponential_gap_ge0 s m k : 0 <= exponential_gap e1 r s m k.
Proof.
rewrite /exponential_gap; case: ifP => _; first by rewrite addr_ge0 // mulr_ge0 ?ler0n.
by case: k => // k; rewrite le_maxr mulr_ge0 ?ler0n.
Qed.

Lemma laplace_gap_monotonic0 : laplace_gap_monotonic e1 r 0 0 = 0.
Proof.
by rewrite /laplace_gap_monotonic /laplace_gap_up /laplace_gap_down /= !mul0r addr0 min_l // !maxxx.
Qed.

Lemma laplace_gap_general0 : laplace_gap_general e1 r 0 0 = 0.
Proof. by rewrite /laplace_gap_general /= !mul0r addr0 min_l. Qed.

Lemma laplace_gap_monotonic_cutoff m k : (k <= c)%N -> laplace_gap_monotonic e1 r m k <= eps_monotonic e1 r c.
Proof.
move=> le; apply: le_trans (laplace_gap_monotonic_le e1_ge0 r_ge0 m k) _.
by rewrite ler_add2l ler_wpmul2r // ler_nat.
Qed.

Lemma laplace_gap_general_cutoff m k : (k <= c)%N -> laplace_gap_general e1 r m k <= eps_general e1 r c.
Proof.
move=> le; apply: le_trans (laplace_gap_general_le e1 r_ge0 m k) _.
by rewrite ler_add2l ler_wpmul2r // ler_nat leq_mul2l.
Qed.

Lemma exponential_gap_monotonic_cutoff m k : (k <= c)%N -> exponential_gap_monotonic e1 r m k <= eps_monotonic e1 r c.
Proof.
move=> le; apply: le_trans (exponential_gap_le e1_ge0 r_ge0 m k (isT : (0 < 1)%N)) _.
by rewrite mul1n ler_add2l ler_wpmul2r // ler_nat.
Qed.

Lemma exponential_gap_general_cutoff m k : (k <= c)%N -> exponential_gap_general e1 r m k <= eps_general e1 r c.
Proof.
move=> le; apply: le_trans (exponential_gap_le e1_ge0 r_ge0 m k (isT : (0 < 2)%N)) _.
by rewrite ler_add2l ler_wpmul2r // ler_nat leq_mul2l.
Qed.

Definition laplace_gap_monotonic_gate :=
  cutoff_gate most eps1_ge0 laplace_gap_monotonic_ge0 laplace_gap_monotonic0 laplace_gap_monotonic_cutoff.
Definition laplace_gap_general_gate :=
  cutoff_gate most eps2_ge0 laplace_gap_general_ge0 laplace_gap_general0 laplace_gap_general_cutoff.
Definition exponential_gap_monotonic_gate :=
  cutoff_gate most eps1_ge0 (exponential_gap_ge0 1) erefl exponential_gap_monotonic_cutoff.
Definition exponential_gap_general_gate :=
  cutoff_gate most eps2_ge0 (exponential_gap_ge0 2) erefl exponential_gap_general_cutoff.

Definition gap_gates := [:: laplace_gap_monotonic_gate; laplace_gap_general_gate; exponential_gap_monotonic_gate;
  exponential_gap_general_gate].

Theorem gap_losses_grow n m k m' k' : (n < size gap_gates)%N -> (m <= m')%N -> (k <= k')%N ->
  let sp := nth laplace_gap_monotonic_gate gap_gates n in loss sp m k <= loss sp m' k'.
Proof.
case: n => [|[|[|[|//]]]] _ le_m le_k /=.
- exact: laplace_gap_monotonic_grows.
- exact: laplace_gap_general_grows.
- exact: exponential_gap_grows.
- exact: exponential_gap_grows.
Qed.

Theorem gap_losses_are_reserved n below above lost i : (n < size gap_gates)%N ->
  let sp := nth laplace_gap_monotonic_gate gap_gates n in
  ~~ through sp below above lost -> (i <= lost.+1)%N -> loss sp (below + i) (above + lost.+1 - i) <= epsilon sp.
Proof. by move=> _ sp; apply: admitted_cost. Qed.

End Gates.
