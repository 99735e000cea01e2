(** * Moments, and what they cost in (eps, delta)

    - [moment alpha mu nu] = sum over x of nu(x) (mu(x) / nu(x))^alpha, the exponential of (alpha - 1)
      times the Renyi divergence of order alpha.
    - [moment_within alpha M mu nu]: the laws have the same support, and that sum exists and is at most M.

    Exported:
    - [moments_multiply]: moments of adaptive draws multiply.
    - [moment_is_private]: if the moment is at most e^((alpha - 1) D), the laws are within (eps, delta) where
      D + [ln(1/delta) + (alpha - 1) ln(1 - 1/alpha) - ln alpha] / (alpha - 1) <= eps. *)

From mathcomp Require Import finmap.
From mathcomp.analysis Require Import nsatz_realtype.
From Sparsegate Require Import prelude privacy sums approximate exponential_mechanism race exponential_bounds.
Local Open Scope ring_scope.

Section Moments.
Context {R : realType} {T : choiceType}.
Implicit Types (mu nu : {distr T / R}) (alpha eps delta M D : R).

Definition moment_term alpha mu nu x := nu x * (mu x / nu x) `^ alpha.

Definition moment alpha mu nu := psum (moment_term alpha mu nu).

Definition moment_within alpha M mu nu :=
  [/\ forall x, (mu x == 0) = (nu x == 0), summable (moment_term alpha mu nu) & moment alpha mu nu <= M].

Lemma moment_term_ge0 alpha mu nu x : 0 <= moment_term alpha mu nu x.
Proof. by rewrite mulr_ge0 // ltW // exp_fun_gt0. Qed.

Lemma moment_termE alpha mu nu x : moment_term alpha mu nu x = nu x * expR (alpha * ln (mu x / nu x)).
Proof. by []. Qed.

Lemma ratioE mu nu x : (mu x == 0) = (nu x == 0) -> nu x * expR (ln (mu x / nu x)) = mu x.
Proof.
move=> supp; have [nu0|nu0] := eqVneq (nu x) 0; first by rewrite nu0 mul0r; apply/esym/eqP; rewrite supp nu0.
have mu_gt0 : 0 < mu x by rewrite lt0r supp nu0 /=.
have nu_gt0 : 0 < nu x by rewrite lt0r nu0 /=.
by rewrite lnK ?posrE ?divr_gt0 // mulrC mulfVK.
Qed.

(** What one outcome of ratio e^L can take from delta: the tangent of y^alpha where it touches best. *)
Lemma excess_le alpha eps L : 1 < alpha ->
  expR L <= expR eps + expR (- ln alpha + (alpha - 1) * (ln (1 - alpha^-1) - eps)) * expR (alpha * L).
Proof.
move=> alpha_gt1; have alpha_gt0 : 0 < alpha by apply: lt_trans alpha_gt1.
pose r := 1 - alpha^-1; have r_gt0 : 0 < r by rewrite subr_gt0 invf_lt1.
pose s0 := eps - ln r; have e_s0 : expR s0 = expR eps / r by rewrite expRB lnK ?posrE.
have := bernoulli (L - s0) (ltW alpha_gt1).
rewrite -(ler_pmul2l (expR_gt0 (s0 - ln alpha))) -!expRD -/r.
have -> : ln r - eps = - s0 by rewrite opprB.
have -> : s0 - ln alpha + alpha * (L - s0) = - ln alpha + (alpha - 1) * (- s0) + alpha * L.
  rewrite mulrN mulrBl mul1r opprB mulrBr [s0 - _]addrC -!addrA; congr (_ + _); congr (_ + _).
  by congr (_ + _); rewrite addrC.
move=> h; apply: le_trans (ler_add (lexx _) h) => {h}.
have e_eps : expR eps = expR s0 * r by rewrite e_s0 mulfVK // gt_eqF.
have -> : expR eps = expR s0 - expR s0 / alpha by rewrite e_eps /r mulrBr mulr1.
rewrite expRB lnK ?posrE // mulrDr mulr1 [X in _ <= _ + (_ + X)]mulrA mulfVK ?gt_eqF //.
by rewrite mulrBr mulr1 -expRD [s0 + _]addrC subrK addrA subrK addrC subrK.
Qed.

Theorem moment_is_private alpha M D eps delta mu nu : 1 < alpha -> 0 < delta ->
  moment_within alpha M mu nu -> M <= expR ((alpha - 1) * D) ->
  D + (ln (delta^-1) + (alpha - 1) * ln (1 - alpha^-1) - ln alpha) / (alpha - 1) <= eps ->
  within_delta eps delta mu nu.
Proof.
move=> alpha_gt1 delta_gt0 [supp sum_m small] M_le eps_ge E.
set k := expR (- ln alpha + (alpha - 1) * (ln (1 - alpha^-1) - eps)).
have k_ge0 : 0 <= k by apply: expR_ge0.
have k_le : k * moment alpha mu nu <= delta.
  apply: (@le_trans _ _ (k * expR ((alpha - 1) * D))); first by rewrite ler_wpmul2l // (le_trans small).
  rewrite /k -expRD -[leRHS](@lnK R) ?posrE // ler_expR.
  have b_gt0 : 0 < alpha - 1 by rewrite subr_gt0.
  move: eps_ge; rewrite -(ler_pmul2l b_gt0) mulrDr [_ * (_ / _)]mulrC mulfVK ?gt_eqF // lnV ?posrE //.
  set b := alpha - 1; set lr := ln (1 - alpha^-1) => h.
  have -> : - ln alpha + b * (lr - eps) + b * D = b * D + (- ln delta + b * lr - ln alpha) - b * eps + ln delta.
    by move: b lr (ln alpha) (ln delta) {h} => b lr la ld; nsatz.
  by rewrite -[leRHS]add0r ler_add2r subr_le0.
apply: le_trans (ler_add (lexx _) k_le); rewrite -!psumZ ?expR_ge0 // -psumD //; first last.
- exact: summableZ.
- by apply: summableZ; exact: summable_pr.
- by move=> x /=; rewrite mulr_ge0 ?moment_term_ge0.
- by move=> x /=; rewrite !mulr_ge0 ?expR_ge0 ?ler0n.
apply: le_psum; last by apply: summableD; apply: summableZ => //; exact: summable_pr.
move=> x; rewrite mulr_ge0 ?ler0n //=; case: (E x); last first.
  by rewrite !mul0r mulr0 add0r mulr_ge0 ?moment_term_ge0.
rewrite !mul1r moment_termE -{1}(ratioE (supp x)) [expR eps * _]mulrC [k * _]mulrCA -mulrDr ler_wpmul2l //.
exact: excess_le.
Qed.

Lemma moment_refl alpha mu : moment_within alpha 1 mu mu.
Proof.
have same : moment_term alpha mu mu =1 mu.
  move=> x; rewrite moment_termE; have [->|nz] := eqVneq (mu x) 0; first by rewrite mul0r.
  by rewrite divff // ln1 mulr0 expR0 mulr1.
split=> //; first by apply: eq_summable (summable_mu mu) => x; rewrite same.
by rewrite /moment (eq_psum same) le1_mu.
Qed.

Lemma moment_weaken alpha M M' mu nu : M <= M' -> moment_within alpha M mu nu -> moment_within alpha M' mu nu.
Proof. by move=> le [supp sum_m small]; split=> //; apply: le_trans le. Qed.

End Moments.

Section Adaptive.
Context {R : realType} {X : choiceType}.
Implicit Types (mu nu : {distr X / R}) (f g : X -> {distr (seq X) / R}).

(** A sum over lists that are not empty is one over heads and tails. *)
Lemma psum_cons (F : seq X -> R) : F [::] = 0 -> summable (fun p : X * seq X => F (p.1 :: p.2)) ->
  summable F /\ psum F = psum (fun p : X * seq X => F (p.1 :: p.2)).
Proof.
move=> F0 sum_F; pose h (p : X * seq X) := p.1 :: p.2.
pose h' (t : seq X) := if t is x :: t' then Some (x, t') else None.
split; last first.
  apply: (reindex_psum_onto (P := [pred t | t != [::]]) (h := h) (h' := h')) => [t|[|x t]|[x t]] //.
  by apply: contra => /eqP ->; rewrite F0.
case/summable_seqP: sum_F => M M0 bound; apply/summable_seqP; exists M => // J uJ.
have uJ' : uniq (pmap h' J) by apply: (@pmap_uniq _ _ h' h) uJ => -[].
apply: le_trans (bound _ uJ'); rewrite le_eqVlt; apply/orP; left; apply/eqP.
elim: J {uJ uJ'} => [|[|x t] J IH] /=; first by rewrite !big_nil.
  by rewrite big_cons F0 normr0 add0r.
by rewrite !big_cons IH.
Qed.

Lemma term_multiplies alpha (a b k l : R) : 0 <= a -> 0 <= b -> 0 <= k -> 0 <= l ->
  (a == 0) = (b == 0) -> (k == 0) = (l == 0) ->
  b * l * (a * k / (b * l)) `^ alpha = b * (a / b) `^ alpha * (l * (k / l) `^ alpha).
Proof.
move=> a0 b0 k0 l0 ab kl; have [->|b_nz] := eqVneq b 0; first by rewrite !mul0r.
have [->|l_nz] := eqVneq l 0; first by rewrite !(mulr0, mul0r).
have pos (x : R) : 0 <= x -> x != 0 -> 0 < x by rewrite lt0r => -> ->.
have [b_gt0 l_gt0] := (pos b b0 b_nz, pos l l0 l_nz).
have a_gt0 : 0 < a by rewrite pos ?ab.
have k_gt0 : 0 < k by rewrite pos ?kl.
by rewrite -mulf_div /exp_fun [ln (a / b * _)]lnM ?posrE ?divr_gt0 // mulrDr expRD mulrACA.
Qed.

Theorem moments_multiply alpha M1 M2 mu nu f g : 0 <= M2 ->
  moment_within alpha M1 mu nu -> (forall x, moment_within alpha M2 (f x) (g x)) ->
  moment_within alpha (M1 * M2) (prefixed mu f) (prefixed nu g).
Proof.
move=> M2_ge0 [supp sum_m small] after.
have supp' x t : (f x t == 0) = (g x t == 0) by case: (after x).
pose F := moment_term alpha (prefixed mu f) (prefixed nu g).
have F_cons x t : F (x :: t) = moment_term alpha mu nu x * moment_term alpha (f x) (g x) t.
  by rewrite /F /moment_term !prefixed_cons term_multiplies.
have F0 : F [::] = 0 by rewrite /F /moment_term !prefixed_nil mul0r.
pose S x t := moment_term alpha mu nu x * moment_term alpha (f x) (g x) t.
have rows x : summable (S x) by apply: summableZ; case: (after x).
have row_sum x : psum (S x) = moment_term alpha mu nu x * moment alpha (f x) (g x).
  by rewrite /S psumZ // moment_term_ge0.
have row_le x : psum (S x) <= M2 * moment_term alpha mu nu x.
  by rewrite row_sum mulrC ler_wpmul2r ?moment_term_ge0 //; case: (after x).
have columns : summable (fun x => psum (S x)).
  apply: (@le_summable _ _ _ (fun x => M2 * moment_term alpha mu nu x)); last exact: summableZ.
  by move=> x; rewrite ge0_psum row_le.
have pairs := summable_pairs rows columns.
have pairs_F : summable (fun p : X * seq X => F (p.1 :: p.2)).
  by apply: eq_summable pairs => p; rewrite F_cons.
have [sum_F F_eq] := psum_cons F0 pairs_F.
split=> //.
- by move=> [|x t]; rewrite ?prefixed_nil ?eqxx // !prefixed_cons !mulf_eq0 supp supp'.
- rewrite /moment -/F F_eq; under eq_psum => p do rewrite F_cons.
  rewrite (psum_pair pairs) /=; apply: (@le_trans _ _ (M2 * moment alpha mu nu)).
    by apply: le_psum_scaled => // x; apply: ge0_psum.
  by rewrite mulrC ler_wpmul2r.
Qed.

End Adaptive.
