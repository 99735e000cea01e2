(** * The same chances as whole numbers

    The code tosses its coins with numbers k(n) / one, where [one] is a power of two. All are integers:

    - [grow] is e^a one, rounded down, and not below [one]; [shrink] is e^-a one, rounded up, and not
      above [one]; [delta] is d one, rounded down.
    - [next_step k]: the recursion of partition_chances.v with these, every quotient rounded down
      ([divz]), and [one] where that is passed or nothing is left to lose.
    - [rounded_steps n]: k(n), from k(0) = 0. [rounded_chance s n]: k(n - s) / one.

    [rounded_steps_fair]: the numbers that are used are themselves fair; no error is left to account for. *)

From mathcomp Require Import all_ssreflect ssralg ssrnum ssrint intdiv.
From mathcomp.classical Require Import boolp classical_sets mathcomp_extra.
From mathcomp.analysis Require Import reals sequences exp.
From Sparsegate Require Import partition_chances.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Rounding.
Context {R : realType}.
Variables (one grow shrink delta : int).
Implicit Types (k : int) (a d : R) (n s : nat).

Definition next_step k : int :=
  let lost := one - k - delta in
  if lost <= 0 then one
  else Num.min one (Num.min (divz (grow * k) one + delta) (one + divz (- (shrink * lost)) one)).

Fixpoint rounded_steps n : int := if n is j.+1 then next_step (rounded_steps j) else 0.

Definition rounded_chance s n : R := (rounded_steps (n - s))%:~R / one%:~R.

Hypotheses (one_gt0 : 0 < one) (delta_ge0 : 0 <= delta).
Hypotheses (grow_ge : one <= grow) (shrink_le : shrink <= one).

Lemma units_le (m : int) : divz m one * one <= m.
Proof. by rewrite [leRHS](divz_eq m one) ler_addl modz_ge0 // gt_eqF. Qed.

Lemma next_step_up k : 0 <= k <= one -> k <= next_step k <= one.
Proof.
move=> /andP[k0 k1]; rewrite /next_step; case: ifP => [_|/negbT]; first by rewrite k1 lexx.
rewrite -ltNge => lost0.
rewrite le_minl lexx andbT !le_minr k1 /=; apply/andP; split.
  apply: le_trans (_ : divz (grow * k) one <= _); last by rewrite ler_addl.
  rewrite lez_divRL // mulrC ler_wpmul2r //.
rewrite -ler_subl_addl lez_divRL //.
rewrite ler_oppr -mulNr opprB; apply: le_trans (_ : one * (one - k - delta) <= _).
  by rewrite ler_wpmul2r // ltW.
by rewrite mulrC ler_wpmul2r ?(ltW one_gt0) // ler_subl_addr ler_addl.
Qed.

Lemma rounded_steps01 n : 0 <= rounded_steps n <= one.
Proof.
elim: n => [|n IH] /=; first by rewrite ltW.
have /andP[up ->] := next_step_up IH; case/andP: IH => k0 _.
by rewrite (le_trans k0 up).
Qed.

Variables (a d : R).
Hypotheses (a_ge0 : 0 <= a) (grow_le : grow%:~R <= expR a * one%:~R).
Hypotheses (shrink_ge : expR (- a) * one%:~R <= shrink%:~R) (delta_le : delta%:~R <= d * one%:~R).

Lemma rounded_steps_fair : fair a d (fun n => (rounded_steps n)%:~R / one%:~R).
Proof.
have one0 : 0 < one%:~R :> R by rewrite ltr0z.
have e1 : 1 <= expR a by rewrite -expR0 ler_expR.
split=> [|n|n|n]; rewrite ?mul0r //=; have /andP[k0 k1] := rounded_steps01 n; move: (rounded_steps n) k0 k1 => k k0 k1;
  have /andP[up le] : k <= next_step k <= one by apply: next_step_up; rewrite k0.
- by rewrite ler_pmul2r ?invr_gt0 // ler_int up ler_pdivr_mulr // mul1r ler_int.
- rewrite ler_pdivr_mulr // mulrDl -mulrA divfK ?gt_eqF //.
  have [lost0|kept] : one <= k + delta \/ next_step k <= divz (grow * k) one + delta.
    rewrite /next_step; case: ifP => [|_]; last by right; rewrite !le_minl lexx orbT.
    by rewrite -addrA -opprD subr_le0; left.
    apply: le_trans (_ : (k + delta)%:~R <= _).
      by rewrite ler_int (le_trans le lost0).
    by rewrite intrD ler_add // ler_pemull // ler0z.
  apply: le_trans (_ : (divz (grow * k) one + delta)%:~R <= _); first by rewrite ler_int.
  rewrite intrD ler_add // -(ler_pmul2r one0) -intrM.
  apply: le_trans (_ : (grow * k)%:~R <= _); first by rewrite ler_int units_le.
  by rewrite intrM mulrAC ler_wpmul2r // ler0z.
- rewrite -(ler_pmul2r one0) mulrBl mul1r divfK ?gt_eqF // mulrDl -mulrA mulrBl mul1r divfK ?gt_eqF //.
  have [lost0|[lost_ge0 lost]] : one <= k + delta \/
      0 <= one - k - delta /\ shrink * (one - k - delta) <= (one - next_step k) * one.
    rewrite /next_step; case: ifP => [|/negbT]; first by rewrite -addrA -opprD subr_le0; left.
    rewrite -ltNge => /ltW lost0; right; split=> //; apply: le_trans (_ : - (divz (- (shrink * (one - k - delta))) one * one) <= _).
      by rewrite ler_oppr units_le.
    rewrite -mulNr ler_wpmul2r ?(ltW one_gt0) // ler_oppl opprB ler_subl_addl.
    by rewrite !le_minl lexx !orbT.
    apply: le_trans (_ : delta%:~R <= _); first by rewrite -rmorphB ler_int ler_subl_addl.
    rewrite (le_trans delta_le) // ler_addr mulr_ge0 ?(ltW (expR_gt0 _)) //.
    by rewrite -rmorphB ler0z subr_ge0.
  rewrite -ler_subl_addr; apply: le_trans (_ : (one - k - delta)%:~R <= _).
    by rewrite !rmorphB ler_sub.
  rewrite -ler_pdivr_mull ?expR_gt0 // -expRN -(ler_pmul2r one0) -rmorphB -intrM.
  apply: le_trans (_ : (shrink * (one - k - delta))%:~R <= _); last by rewrite ler_int.
  by rewrite intrM mulrAC ler_wpmul2r // ler0z.
Qed.

End Rounding.
