(** * Inequalities of the exponential function

    - [expR_ge1D]: 1 + x <= e^x for every x (the library has it for x >= 0).
    - [cosh_le]: e^x + e^-x <= 2 e^(x^2 / 2), term by term of the series.
    - [bernoulli]: 1 + alpha (z - 1) <= z^alpha for z = e^s and alpha >= 1. *)

From mathcomp Require Import all_ssreflect ssralg ssrnum ssrint.
From mathcomp.classical Require Import boolp classical_sets mathcomp_extra.
From mathcomp.analysis Require Import reals topology normedtype sequences exp.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Import numFieldNormedType.Exports.
Local Open Scope ring_scope.

Section Bounds.
Context {R : realType}.
Implicit Types (x y z s M : R).

Lemma expR_le_partial x y M : (forall n, \sum_(0 <= i < n) (exp_coeff x i + exp_coeff y i) <= M) ->
  expR x + expR y <= M.
Proof.
move=> bound; have cx := @is_cvg_series_exp_coeff R x; have cy := @is_cvg_series_exp_coeff R y.
rewrite /expR -(@limD _ [normedModType R of R^o] _ _ _ _ _ cx cy); apply: limr_le.
  exact: (@is_cvgD _ [normedModType R of R^o] _ _ _ _ _ cx cy).
by near=> n; have := bound n; rewrite big_split.
Unshelve. all: by end_near. Qed.

Lemma partial_le_expR x n : 0 <= x -> \sum_(0 <= i < n) exp_coeff x i <= expR x.
Proof.
move=> x_ge0; apply: (@nondecreasing_cvg_le R (series (exp_coeff x))); last exact: is_cvg_series_exp_coeff.
by apply: (@nondecreasing_series R (exp_coeff x) xpredT) => i _; apply: exp_coeff_ge0.
Qed.

Lemma expR_ge1D x : 1 + x <= expR x.
Proof.
have [x_ge0|x_lt0] := leP 0 x; first exact: expR_ge1Dx.
have [le|lt] := leP (1 + x) 0; first exact: le_trans le (ltW (expR_gt0 x)).
pose y := - x; have y_ge0 : 0 <= y by rewrite oppr_ge0 ltW.
have -> : x = - y by rewrite opprK.
have lt' : 0 < 1 - y by rewrite opprK.
rewrite expRN -[leLHS]invrK lef_pinv ?posrE ?invr_gt0 ?expR_gt0 //.
rewrite -(@ler_add2r _ 1) -{1}(@expR0 R); apply: expR_le_partial => n.
rewrite big_split /= ler_add //; last by rewrite -[leRHS](@expR0 R) partial_le_expR.
apply: (@le_trans _ _ (\sum_(0 <= i < n) y ^+ i)).
  apply: ler_sum => i _; rewrite /exp_coeff /= ler_pdivr_mulr ?ltr0n ?fact_gt0 //.
  by rewrite ler_pemulr ?exprn_ge0 // ler1n fact_gt0.
rewrite -[leRHS]mul1r ler_pdivl_mulr // big_mkord mulrC.
have := subrX1 y n; rewrite -opprB -[y - 1]opprB mulNr => /oppr_inj <-.
by rewrite ler_subl_addr ler_addl exprn_ge0.
Qed.

Lemma fact_double n : (2 ^ n * n`! <= (n.*2)`!)%N.
Proof.
elim: n => // n IH; rewrite doubleS !factS expnS -doubleS.
have -> : (2 * 2 ^ n * (n.+1 * n`!) = n.+1.*2 * (2 ^ n * n`!))%N by rewrite -mul2n mulnACA.
by rewrite leq_mul // (leq_trans IH) // leq_pmull.
Qed.

Lemma even_terms x n : \sum_(0 <= i < n.*2) (exp_coeff x i + exp_coeff (- x) i) =
  \sum_(0 <= i < n) (2 * (x ^+ i.*2 / (i.*2)`!%:R)).
Proof.
elim: n => [|n IH]; first by rewrite !big_nil.
rewrite doubleS !big_nat_recr //= IH -addrA; congr (_ + _).
have even : (- x) ^+ n.*2 = x ^+ n.*2 by rewrite -mul2n !exprM sqrrN.
rewrite /exp_coeff /= [(- x) ^+ _.+1]exprS even mulNr -exprS mulNr subrr addr0.
by rewrite mulr_natl mulr2n.
Qed.

Lemma cosh_le x : expR x + expR (- x) <= 2 * expR (x ^+ 2 / 2).
Proof.
apply: expR_le_partial => n; apply: (@le_trans _ _ (\sum_(0 <= i < n.*2) (exp_coeff x i + exp_coeff (- x) i))).
  rewrite [leRHS](@big_cat_nat _ _ _ n) //=; last by rewrite -addnn leq_addr.
  rewrite ler_addl sumr_ge0 // => i _; rewrite /exp_coeff /= -mulrDl divr_ge0 ?ler0n // exprNn -signr_odd.
  case odd_i : (odd i); first by rewrite expr1 mulN1r subrr.
  by rewrite expr0 mul1r addr_ge0 // exprn_even_ge0 // odd_i.
rewrite even_terms; apply: (@le_trans _ _ (2 * \sum_(0 <= i < n) exp_coeff (x ^+ 2 / 2) i)); last first.
  by rewrite ler_pmul2l ?ltr0n // partial_le_expR // divr_ge0 ?sqr_ge0 ?ler0n.
rewrite mulr_sumr; apply: ler_sum => i _; rewrite ler_pmul2l ?ltr0n // /exp_coeff /= expr_div_n -exprM mul2n.
rewrite -mulrA; apply: ler_wpmul2l; first by rewrite -mul2n exprM exprn_ge0 ?sqr_ge0.
rewrite -invfM lef_pinv ?posrE ?mulr_gt0 ?exprn_gt0 ?ltr0n ?fact_gt0 //.
by rewrite -natrX -natrM ler_nat fact_double.
Qed.

(** The tangent at s, taken at alpha s and at 0. *)
Lemma bernoulli alpha s : 1 <= alpha -> 1 + alpha * (expR s - 1) <= expR (alpha * s).
Proof.
move=> alpha_ge1; have alpha_ge0 : 0 <= alpha by apply: le_trans alpha_ge1.
have t1 : expR s * (1 + (alpha - 1) * s) <= expR (alpha * s).
  have -> : alpha * s = s + (alpha - 1) * s by rewrite -{2}[s]mul1r -mulrDl addrC subrK.
  by rewrite expRD ler_pmul2l ?expR_gt0 // expR_ge1D.
have t0 : expR s * (1 - s) <= 1.
  by rewrite -[leRHS](expRxMexpNx_1 s) ler_pmul2l ?expR_gt0 // expR_ge1D.
apply: le_trans t1; set E := expR s in t0 *; set b := alpha - 1.
have b_ge0 : 0 <= b by rewrite subr_ge0.
have -> : alpha = b + 1 by rewrite subrK.
rewrite mulrDl mul1r addrCA [1 + _]addrC subrK [E * _]mulrDr mulr1 [_ + E]addrC ler_add2l.
have -> : E * (b * s) = b * (E - E * (1 - s)) by rewrite [E * (1 - s)]mulrBr mulr1 opprB addrC subrK mulrCA.
by apply: ler_wpmul2l => //; rewrite ler_add2l ler_opp2.
Qed.

End Bounds.
