(** * Fair bits, words of them, and loops that end

    - [word n]: n fair bits, drawn one by one and read as a number below 2^n.
    - [word_is_uniform]: each of the 2^n numbers has probability 2^-n.
    - [word_then]: what follows a word is the average over the 2^n numbers.
    - [dlim_close]: a loop, as the limit of its first f turns, has the law to which those come as close as
      one likes. *)

From mathcomp Require Import rat.
From mathcomp.analysis Require Import constructive_ereal.
From Sparsegate Require Import prelude sums programs coins.
Local Open Scope ring_scope.

Section Words.
Context {R : realType}.
Implicit Types (n u v : nat).

Fixpoint word n : {distr nat / R} :=
  if n is j.+1 then \dlet_(v <- word j) \dlet_(b <- dflip 2^-1) dunit (nat_of_bool b + v.*2)%N
  else dunit 0%N.

Lemma half01 : 0 <= (2^-1 : R) <= 1.
Proof. by rewrite invr_ge0 ler0n invf_le1 ?ltr0n // ler1n. Qed.

Lemma one_minus_half : 1 - 2^-1 = 2^-1 :> R.
Proof.
by rewrite -{1}(@mulfV _ 2%:R) ?pnatr_eq0 // -{2}[2^-1]mul1r -mulrBl (_ : 2 - 1 = 1) ?mul1r // addrK.
Qed.

Lemma pow2_gt0 n : 0 < 2 ^+ n :> R.
Proof. by rewrite exprn_gt0 ?ltr0n. Qed.

Theorem word_is_uniform n u : word n u = (u < 2 ^ n)%N%:R / 2 ^+ n.
Proof.
elim: n u => [|n IHn] u; first by rewrite /= dunit1E expn0 expr0 divr1 ltnS leqn0 eq_sym.
have step v : (\dlet_(b <- dflip 2^-1) dunit (nat_of_bool b + v.*2)%N) u = (v == u./2)%:R / 2 :> R.
  rewrite toss_then ?half01 // one_minus_half -mulrDr mulrC !dunit1E add1n add0n.
  congr (_ / _); rewrite -natrD; congr (_%:R).
  have [->|ne] := eqVneq v u./2; last first.
    suff [/negbTE -> /negbTE ->] : v.*2.+1 != u /\ v.*2 != u by [].
    by split; apply: contra ne => /eqP <-; rewrite ?doubleK // -[v.*2.+1]/(true + v.*2)%N half_bit_double.
  rewrite -{2 4}(odd_double_half u); case: (odd u); rewrite ?add1n ?add0n eqxx.
    by rewrite ltn_eqF.
  by rewrite gtn_eqF.
rewrite /= dletE (psum_point (x := u./2)) => [|v /negbTE ne]; last by rewrite step ne mul0r mulr0.
rewrite step eqxx IHn ger0_norm ?mulr_ge0 ?invr_ge0 ?ler0n ?ltW ?pow2_gt0 //.
rewrite mul1r exprS -mulrA -invfM mulrC [(2 * _)^-1]invfM mulrC -invfM; congr (_%:R / _).
  by rewrite expnS mul2n; rewrite ltnNge geq_half_double -ltnNge.
by rewrite mulrC.
Qed.

Lemma word_then {T : choiceType} n (f : nat -> {distr T / R}) x :
  (\dlet_(v <- word n) f v) x = (\sum_(0 <= v < 2 ^ n) f v x) / 2 ^+ n.
Proof.
rewrite dletE (psum_finseq (r := index_iota 0 (2 ^ n))) ?iota_uniq // => [|v]; last first.
  by rewrite inE mem_index_iota word_is_uniform; case: ltnP => //; rewrite !mul0r eqxx.
rewrite mulr_suml !big_seq; apply: eq_bigr => v.
rewrite mem_index_iota word_is_uniform => /= ->.
by rewrite mul1r mulrC ger0_norm // mulr_ge0 // invr_ge0 ltW ?pow2_gt0.
Qed.

Lemma word_mass_one n : psum (word n) = 1.
Proof.
by elim: n => [|n IHn]; rewrite /= ?dunit_mass_one //; do !apply: dlet_mass_one => //= *;
  rewrite ?flip_mass_one ?dunit_mass_one.
Qed.

End Words.

Section Limits.
Context {R : realType}.

Lemma pow2_small (e : R) : 0 < e -> exists k : nat, forall n, (k <= n)%N -> (2 ^+ n)^-1 <= e.
Proof.
move=> e0; exists (Num.bound e^-1) => n le_n; rewrite -[e]invrK lef_pinv ?posrE ?invr_gt0 ?pow2_gt0 //.
have := archi_boundP (ltW (_ : 0 < e^-1)); rewrite invr_gt0 => /(_ e0)/ltW/le_trans -> //.
by rewrite -natrX ler_nat (leq_trans le_n) // ltnW // ltn_expl.
Qed.

Lemma dlim_close {T : choiceType} (f : nat -> {distr T / R}) x (l : R) :
  (forall e, 0 < e -> exists k : nat, forall n, (k <= n)%N -> `|f n x - l| <= e) ->
  (\dlim_(n) f n) x = l.
Proof.
move=> close; rewrite dlimE (nlimE (l := l%:E)) //.
elim/nbh_finW => e e0; have [|k le_k] := close (e / 2); first by rewrite divr_gt0 ?ltr0n.
exists k => n /le_k le_e; rewrite inE; apply: le_lt_trans le_e _.
by rewrite ltr_pdivr_mulr ?ltr0n // ltr_pmulr // ltr1n.
Qed.

End Limits.
