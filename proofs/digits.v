(** * The binary digits of a geometric variable

    Let Z be geometric with rate a > 0. [digit j z] is the binary digit number j of z, [rest n z] what is
    left above the low n digits, floor(z / 2^n), and [coin x] the coin that the sampler tosses for a digit:
    heads with probability [logistic x] = 1 / (1 + e^x).

    - [geometric_digits]: for any n, any digits b_0, ..., b_(n-1) and any event E,
        P[digit j of Z = b_j for all j < n, and rest n Z in E]
          = (product over j < n of P[coin (2^j a) = b_j]) P[Z' in E], Z' geometric with rate 2^n a.
      So the digits are independent of each other and of the rest, and the rest is geometric again.
    - [geometric_digit_bias]: digit j is one with probability logistic(2^j a). *)

From Sparsegate Require Import prelude privacy sums laplace geometric programs coins.
Local Open Scope ring_scope.

Section Coins.
Context {R : realType}.
Implicit Types (x : R).

Definition logistic x : R := (1 + expR x)^-1.
Definition coin x : {distr bool / R} := dflip (logistic x).

Lemma logisticE x : logistic x = expR (- x) / (1 + expR (- x)).
Proof.
rewrite /logistic expRN -invfM; congr (_^-1).
by rewrite mulrDr mulr1 mulfV ?gt_eqF ?expR_gt0 // addrC.
Qed.

Lemma logisticN x : 1 - logistic x = (1 + expR (- x))^-1.
Proof.
rewrite logisticE -{1}(@mulfV _ (1 + expR (- x))) ?gt_eqF ?one_plus_expR_gt0 //.
by rewrite -mulrBl addrK mul1r.
Qed.

Lemma logistic01 x : 0 <= logistic x <= 1.
Proof.
rewrite invr_ge0 ltW ?one_plus_expR_gt0 //= -subr_ge0 logisticN invr_ge0.
by rewrite ltW ?one_plus_expR_gt0.
Qed.

Lemma coinE x (b : bool) : coin x b = expR (- x) ^+ b / (1 + expR (- x)).
Proof.
rewrite dflip1E /mflip clamp_in01 ?logistic01 //.
by case: b; rewrite ?logisticN ?logisticE ?expr0 ?mul1r.
Qed.

End Coins.

Section Digits.
Context {R : realType}.
Implicit Types (a : R) (z : int) (E : pred int).

Definition digit (j : nat) z : bool := odd (`|z|%N %/ 2 ^ j).
Definition rest (n : nat) z : int := Posz (`|z|%N %/ 2 ^ n).

Lemma geometric_pr a E : 0 < a ->
  \P_[geometric a] E = psum (fun n : nat => (E n)%:R * ((1 - expR (- a)) * expR (- a) ^+ n)).
Proof.
move=> a0; rewrite /pr psum_int; last exact: summable_pr.
rewrite [X in _ + X]psum_eq0 ?addr0 => [|n]; last by rewrite geometric_neg ?mulr0.
by apply: eq_psum => n; rewrite geometric_natE.
Qed.

(** The lowest digit: z = b + 2 k, and q^z = q^b (q^2)^k. *)
Lemma geometric_first_digit a (b : bool) E : 0 < a ->
  \P_[geometric a] (fun z => (digit 0 z == b) && E (rest 1 z)) = coin a b * \P_[geometric (a * 2)] E.
Proof.
move=> a0; have a20 : 0 < a * 2 by rewrite mulr_gt0 ?ltr0n.
rewrite (geometric_pr _ a0) (geometric_pr _ a20) -psumZ ?ge0_mu //.
rewrite (reindex_psum (P := fun n : nat => odd n == b) (h := fun k : nat => (b + k.*2)%N)).
- apply: eq_psum => k /=.
  rewrite coinE /digit /rest /= divn1 expn1 divn2 half_bit_double oddD odd_double addbF oddb eqxx /=.
  set q := expR (- a); have -> : expR (- (a * 2)) = q ^+ 2 by rewrite -expRNM_nat.
  have -> : 1 - q ^+ 2 = (1 - q) * (1 + q) by rewrite mulrDr mulr1 mulrBl mul1r addrA subrK expr2.
  rewrite exprD -mul2n exprM [RHS]mulrCA; congr (_ * _).
  rewrite -[X in _ = _ * X]mulrA [RHS]mulrCA; congr (_ * _).
  by rewrite mulrA divfK // gt_eqF ?one_plus_expR_gt0.
- move=> n; rewrite unfold_in /digit /= divn1; case: (_ == b) => //.
  by rewrite mul0r eqxx.
- exists half => k; rewrite unfold_in /=; first by rewrite half_bit_double.
  by move/eqP <-; rewrite odd_double_half.
Qed.

Lemma digitS j z : digit j.+1 z = digit j (rest 1 z).
Proof. by rewrite /digit /rest /= expnS expn1 divnMA. Qed.

Lemma restS n z : rest n.+1 z = rest n (rest 1 z).
Proof. by rewrite /rest /= expnS expn1 divnMA. Qed.

Lemma pr_ext (T : choiceType) (mu : {distr T / R}) (E F : pred T) : E =1 F -> \P_[mu] E = \P_[mu] F.
Proof. by move=> EF; apply: eq_psum => x; rewrite EF. Qed.

Theorem geometric_digits a n (b : nat -> bool) E : 0 < a ->
  \P_[geometric a] (fun z => [forall j : 'I_n, digit j z == b j] && E (rest n z)) =
  (\prod_(j < n) coin (a * 2 ^+ j) (b j)) * \P_[geometric (a * 2 ^+ n)] E.
Proof.
elim: n a b => [|n IHn] a b a0.
  rewrite big_ord0 mul1r expr0 mulr1 !geometric_pr //; apply: eq_psum => n; congr (_%:R * _).
  rewrite /rest /= expn0 divn1 (_ : [forall j : 'I_0, _] = true) //.
  by apply/forallP => -[].
have a20 : 0 < a * 2 by rewrite mulr_gt0 ?ltr0n.
pose F z := [forall j : 'I_n, digit j z == b j.+1] && E (rest n z).
rewrite (@pr_ext _ _ _ (fun z => (digit 0 z == b 0%N) && F (rest 1 z))); last first.
  move=> z; rewrite /F restS andbA; congr (_ && _); apply/forallP/andP => [h|[h0 h] [[|j] lt_j]] //.
  - split; first exact: (h ord0).
    by apply/forallP => j; rewrite -digitS; apply: (h (lift ord0 j)).
  - by have /forallP/(_ (Ordinal (lt_j : (j < n)%N))) := h; rewrite digitS.
have IH : \P_[geometric (a * 2)] F = _ := IHn (a * 2) (fun j => b j.+1) a20.
apply: etrans (geometric_first_digit (b 0%N) F a0) _; rewrite IH {IH}.
rewrite big_ord_recl expr0 mulr1 mulrA -(mulrA a) -exprS.
by congr (_ * _ * _); apply: eq_bigr => j _; rewrite -mulrA -exprS.
Qed.

Theorem geometric_digit_bias a j : 0 < a -> \P_[geometric a] (digit j) = logistic (a * 2 ^+ j).
Proof.
elim: j a => [|j IHj] a a0.
  rewrite (@pr_ext _ _ _ (fun z => (digit 0 z == true) && predT (rest 1 z))); last first.
    by move=> z; rewrite eqb_id andbT.
  have a20 : 0 < a * 2 by rewrite mulr_gt0 ?ltr0n.
  rewrite (geometric_first_digit true predT a0) pr_predT geometric_sums_to_one // mulr1 expr0 mulr1.
  by rewrite coinE expr1 logisticE.
have a20 : 0 < a * 2 by rewrite mulr_gt0 ?ltr0n.
rewrite (prID _ (digit 0)) exprS mulrA -IHj //.
rewrite (@pr_ext _ _ _ (fun z => (digit 0 z == true) && digit j (rest 1 z))); last first.
  by move=> z; rewrite -digitS eqb_id andbC.
rewrite (@pr_ext _ _ [predI _ & _] (fun z => (digit 0 z == false) && digit j (rest 1 z))); last first.
  by move=> z; rewrite -digitS eqbF_neg andbC.
rewrite [X in X + _](geometric_first_digit true (digit j) a0) [X in _ + X](geometric_first_digit false (digit j) a0).
rewrite -mulrDl !coinE -mulrDl expr0 expr1 [_ + 1]addrC.
by rewrite mulfV ?mul1r // gt_eqF ?one_plus_expR_gt0.
Qed.

End Digits.
