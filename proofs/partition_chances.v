(** * How often a label is kept that n people have

    - [optimal a d n]: pi(0) = 0, pi(n) = min(e^a pi(n-1) + d, 1 - e^-a (1 - pi(n-1) - d), 1).
    - [chance a d s n]: pi(n - s), and 0 for n <= s: the same, s people later.
    - [fair a d p]: what privacy asks of the chances p(0), p(1), ...: p(0) = 0, they rise up to 1 at
      most, p(n+1) <= e^a p(n) + d, and 1 - p(n) <= e^a (1 - p(n+1)) + d.

    [optimal_fair], [fair_later]: these chances are fair. [optimal_most]: no fair ones are larger. What
    this means for a release is in partition_selection.v. *)

From Sparsegate Require Import prelude privacy.
Local Open Scope ring_scope.

Section Chances.
Context {R : realType}.
Implicit Types (a d x : R) (p : nat -> R) (n s : nat).

Definition fair a d p :=
  [/\ p 0%N = 0, forall n, p n <= p n.+1 <= 1, forall n, p n.+1 <= expR a * p n + d
    & forall n, 1 - p n <= expR a * (1 - p n.+1) + d].

Definition next a d x : R := Num.min (Num.min (expR a * x + d) (1 - expR (- a) * (1 - x - d))) 1.

Fixpoint optimal a d n : R := if n is k.+1 then next a d (optimal a d k) else 0.

Definition chance a d s n : R := optimal a d (n - s).
Lemma fair01 a d p n : fair a d p -> 0 <= p n <= 1.
Proof.
case=> p0 up _ _; suff p_ge0 k : 0 <= p k.
  by rewrite p_ge0; case/andP: (up n) => /le_trans le /le ->.
by elim: k => [|k IH]; [rewrite p0 | case/andP: (up k) => /(le_trans IH)].
Qed.

Lemma next_up a d x : 0 <= a -> 0 <= d -> 0 <= x <= 1 -> x <= next a d x <= 1.
Proof.
move=> a0 d0 /andP[x0 x1]; rewrite /next le_minl lexx orbT andbT !le_minr x1 andbT.
have e1 : 1 <= expR a by rewrite -expR0 ler_expR.
rewrite (le_trans (_ : x <= expR a * x)) ?ler_addl //=; last by rewrite ler_pemull.
rewrite ler_subr_addl -ler_subr_addr; have [y0|/ltW y0] := leP 0 (1 - x - d).
  apply: le_trans (_ : 1 - x - d <= _); last by rewrite ler_subl_addr ler_addl.
  by rewrite ler_pimull // -expR0 ler_expR oppr_le0.
by apply: le_trans (_ : 0 <= _); rewrite ?subr_ge0 // mulr_ge0_le0 // ltW // expR_gt0.
Qed.

Lemma next_falls a d x : 1 - x <= expR a * (1 - next a d x) + d.
Proof.
rewrite -ler_subl_addr -ler_pdivr_mull ?expR_gt0 // -expRN ler_subr_addl -ler_subr_addr.
by rewrite /next !le_minl lexx orbT.
Qed.

Lemma optimal01 a d n : 0 <= a -> 0 <= d -> 0 <= optimal a d n <= 1.
Proof.
move=> a0 d0; elim: n => [|n IH] /=; first by rewrite lexx ler01.
have /andP[up ->] := next_up a0 d0 IH; case/andP: IH => x0 _.
by rewrite (le_trans x0 up).
Qed.

Lemma optimal_fair a d : 0 <= a -> 0 <= d -> fair a d (optimal a d).
Proof.
move=> a0 d0; split=> // n; last exact: next_falls.
- exact: next_up (optimal01 _ a0 d0).
- by rewrite /= /next !le_minl lexx.
Qed.

Lemma fair_later a d p s : 0 <= a -> 0 <= d -> fair a d p -> fair a d (fun n => p (n - s)%N).
Proof.
move=> a0 d0 [p0 up rise fall]; have e1 : 1 <= expR a by rewrite -expR0 ler_expR.
have step n : (n.+1 - s = (n - s).+1)%N \/ (n.+1 - s = 0)%N /\ (n - s = 0)%N.
  case: (leqP s n) => [/subSn ->|ns]; first by left.
  by right; split; apply/eqP; rewrite subn_eq0 // ltnW.
split=> [|n|n|n]; first by rewrite sub0n.
- by case: (step n) => [->|[-> ->]] //; rewrite p0 lexx ler01.
- by case: (step n) => [->|[-> ->]] //; rewrite p0 mulr0 add0r.
- by case: (step n) => [->|[-> ->]] //; rewrite p0 subr0 mulr1 (le_trans e1) // ler_addl.
Qed.

(** No rule that satisfies the two bounds keeps more. *)
Lemma optimal_most a d p : p 0%N <= 0 -> (forall n, p n <= 1) ->
  (forall n, p n.+1 <= expR a * p n + d) -> (forall n, 1 - p n <= expR a * (1 - p n.+1) + d) ->
  forall n, p n <= optimal a d n.
Proof.
move=> p0 p1 rise fall; elim=> [|n IH] //=; rewrite /next !le_minr p1 andbT; apply/andP; split.
  by apply: le_trans (rise n) _; rewrite ler_add2r ler_wpmul2l // ltW // expR_gt0.
rewrite ler_subr_addl -ler_subr_addr; apply: le_trans (_ : expR (- a) * (1 - p n - d) <= _).
  by rewrite ler_wpmul2l ?(ltW (expR_gt0 _)) // ler_add2r ler_sub.
by rewrite expRN ler_pdivr_mull ?expR_gt0 // ler_subl_addr.
Qed.

End Chances.
