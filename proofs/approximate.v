(** * Private but for delta

    [within_delta eps delta mu nu] (privacy.v): for every event E, mu(E) <= e^eps nu(E) + delta. Here is
    what is done with it in the proofs of mechanisms that have a delta.

    - [near_law delta mu nu]: for every event E, mu(E) <= nu(E) + delta. If it holds both ways, the laws are
      within delta of one another in total variation.

    Exported:
    - [within_delta_post]: post-processing, by coins too.
    - [within_delta_compose]: adaptive composition: epsilons add, deltas add.
    - [within_delta_except]: if every outcome of a set G is at most e^eps times as likely under mu as
      under nu, and mu leaves G with probability at most delta, then [within_delta eps delta mu nu].
    - [within_delta_near]: if mu is near mu' and nu' near nu, by delta0 each, and mu', nu' are within
      (eps, delta), then mu and nu are within (eps, delta + delta0 (1 + e^eps)).
    - [near_dominated]: if nu is at least as likely as mu on a set G that mu leaves with probability at
      most delta, and both have mass one, then each is near the other by delta.
    - [near_conditioned]: so is a law to itself, conditioned on such a set. *)

From Sparsegate Require Import prelude privacy sums programs.
Local Open Scope ring_scope.

Section Approximate.
Context {R : realType} {T : choiceType}.
Implicit Types (mu nu : {distr T / R}) (eps delta : R) (E G : pred T).

Definition near_law delta mu nu := forall E, \P_[mu] E <= \P_[nu] E + delta.

Lemma expR_ge0 eps : 0 <= expR eps.
Proof. exact: ltW (expR_gt0 _). Qed.

Lemma within_delta_near0 delta mu nu : near_law delta mu nu <-> within_delta 0 delta mu nu.
Proof. by rewrite /within_delta expR0; split=> h E; have := h E; rewrite mul1r. Qed.

Lemma within_delta_ge0 eps delta mu nu : within_delta eps delta mu nu -> 0 <= delta.
Proof. by move/(_ pred0); rewrite !pr_pred0 mulr0 add0r. Qed.

Lemma within_delta_weaken eps eps' delta delta' mu nu : eps <= eps' -> delta <= delta' ->
  within_delta eps delta mu nu -> within_delta eps' delta' mu nu.
Proof.
move=> le_e le_d h E; apply: le_trans (h E) _.
by rewrite ler_add // ler_wpmul2r ?ge0_pr // ler_expR.
Qed.

Lemma prID_pred E G mu : \P_[mu] E = \P_[mu] [predI E & G] + \P_[mu] [predI E & predC G].
Proof. exact: prID. Qed.

Theorem within_delta_except eps delta mu nu G :
  (forall x, G x -> mu x <= expR eps * nu x) -> \P_[mu] (predC G) <= delta ->
  within_delta eps delta mu nu.
Proof.
move=> h bad E; rewrite (prID_pred E G); apply: ler_add; last first.
  by apply: le_trans bad; apply: subset_pr => x /andP[].
apply: (@le_trans _ _ (expR eps * \P_[nu] [predI E & G])); last first.
  by rewrite ler_wpmul2l ?expR_ge0 //; apply: subset_pr => x /andP[].
apply: le_psum_scaled; first exact: expR_ge0.
- by move=> x; rewrite mulr_ge0 ?ler0n.
- move=> x /=; rewrite mulrCA; case: (boolP (_ && _)) => [/andP[_ Gx]|_]; last by rewrite !mul0r.
  by rewrite !mul1r; apply: h.
- exact: summable_pr.
Qed.

(** Events may be tossed for: h x is the probability that x counts. *)
Lemma within_delta_expectation eps delta mu nu (h : T -> R) : within_delta eps delta mu nu ->
  (forall x, 0 <= h x <= 1) ->
  psum (fun x => mu x * h x) <= expR eps * psum (fun x => nu x * h x) + delta.
Proof.
move=> private h01; pose E x := expR eps * nu x < mu x.
have h_ge0 x : 0 <= h x by case/andP: (h01 x).
have h_le1 x : h x <= 1 by case/andP: (h01 x).
have sum_h (xi : {distr T / R}) : summable (fun x => xi x * h x).
  apply: le_summable (summable_mu xi) => x; rewrite mulr_ge0 //=.
  by rewrite ler_pimulr.
pose gain x := (E x)%:R * mu x - expR eps * ((E x)%:R * nu x).
have gain_ge0 x : 0 <= gain x.
  by rewrite /gain /E; case: ltP => [/ltW|_]; rewrite ?mul1r ?subr_ge0 ?mul0r ?mulr0 ?subr0.
have sum_gain : summable gain.
  by apply: summableD; [|apply: summableN; apply: summableZ]; exact: summable_pr.
have gain_le : psum gain <= delta.
  rewrite -(ler_add2l (expR eps * \P_[nu] E)); apply: le_trans (private E).
  rewrite -psumZ ?expR_ge0 // -psumD //; first last.
  - by apply: summableZ; exact: summable_pr.
  - by move=> x /=; rewrite !mulr_ge0 ?expR_ge0 ?ler0n.
  by rewrite le_eqVlt; apply/orP; left; apply/eqP/eq_psum => x /=; rewrite /gain addrCA subrr addr0.
apply: le_trans (ler_add (lexx _) gain_le).
rewrite -psumZ ?expR_ge0 // -psumD //; first last.
- by apply: summableZ.
- by move=> x; rewrite /= mulr_ge0 ?expR_ge0 // mulr_ge0.
apply: le_psum; last by apply: summableD => //; apply: summableZ.
move=> x; rewrite mulr_ge0 //= /gain /E [expR eps * (nu x * _)]mulrA; case: ltP => [gt|le]; last first.
  by rewrite !mul0r mulr0 subr0 addr0 ler_wpmul2r.
rewrite !mul1r -ler_subl_addl -mulrBl ler_pimulr // subr_ge0; exact: ltW.
Qed.

Theorem within_delta_near eps delta delta0 mu mu' nu nu' :
  near_law delta0 mu mu' -> near_law delta0 nu' nu -> within_delta eps delta mu' nu' ->
  within_delta eps (delta + delta0 * (1 + expR eps)) mu nu.
Proof.
move=> h1 h2 private E; apply: le_trans (h1 E) _.
apply: le_trans (ler_add (private E) (lexx delta0)) _.
apply: le_trans (ler_add (ler_add (ler_wpmul2l (expR_ge0 _) (h2 E)) (lexx delta)) (lexx delta0)) _.
by rewrite !mulrDr mulr1 [delta0 * _]mulrC -!addrA ler_add2l addrC -addrA.
Qed.

Theorem near_dominated delta mu nu G : psum mu = 1 -> psum nu = 1 ->
  (forall x, G x -> mu x <= nu x) -> \P_[mu] (predC G) <= delta -> near_law delta mu nu /\ near_law delta nu mu.
Proof.
move=> mu1 nu1 h bad; have close : near_law delta mu nu.
  apply/within_delta_near0; apply: (@within_delta_except _ _ _ _ G) => // x Gx.
  by rewrite expR0 mul1r; apply: h.
split=> // E; have := close (predC E); rewrite !pr_predC !pr_predT mu1 nu1.
by rewrite ler_subl_addr -!addrA ler_addl addrC subr_ge0 addrC.
Qed.

Theorem near_conditioned delta mu G : psum mu = 1 -> \P_[mu] (predC G) <= delta ->
  forall E, \P_[mu] E <= \P_[mu, G] E + delta /\ \P_[mu, G] E <= \P_[mu] E + delta.
Proof.
move=> mu1 bad E.
have GP : \P_[mu] G = 1 - \P_[mu] (predC G) by rewrite pr_predC pr_predT mu1 subKr.
have joint : \P_[mu] [predI E & G] = \P_[mu, G] E * \P_[mu] G.
  rewrite /prc; have [G0|Gn0] := eqVneq (\P_[mu] G) 0; last by rewrite mulfVK.
  apply/eqP; rewrite G0 mulr0 eq_le ge0_pr andbT -G0.
  by apply: subset_pr => x /andP[].
split.
  rewrite (prID_pred E G) joint; apply: ler_add; first by rewrite ler_pimulr ?ge0_prc ?le1_pr.
  by apply: le_trans bad; apply: subset_pr => x /andP[].
rewrite -ler_subl_addr; apply: (@le_trans _ _ (\P_[mu] [predI E & G])); last first.
  by apply: subset_pr => x /andP[].
rewrite joint GP mulrBr mulr1 ler_add2l ler_opp2; apply: le_trans bad.
by rewrite ler_pimull ?ge0_pr ?le1_prc.
Qed.

End Approximate.

Section Composition.
Context {R : realType} {T U : choiceType}.
Implicit Types (mu nu : {distr T / R}) (eps delta : R).

(** A draw that comes after cannot be trusted with more than probability one: hence the minimum. *)
Theorem within_delta_compose e1 e2 d1 d2 mu nu (f g : T -> {distr U / R}) :
  within_delta e1 d1 mu nu -> (forall x, within_delta e2 d2 (f x) (g x)) -> 0 <= d2 ->
  within_delta (e1 + e2) (d1 + d2) (\dlet_(x <- mu) f x) (\dlet_(x <- nu) g x).
Proof.
move=> h1 h2 d2_ge0 E; rewrite !pr_after.
pose h x := Num.min 1 (expR e2 * \P_[g x] E).
have h01 x : 0 <= h x <= 1.
  by rewrite /h le_minr ler01 mulr_ge0 ?expR_ge0 ?ge0_pr //= le_minl lexx.
have sum_h (xi : {distr T / R}) : summable (fun x => xi x * h x).
  apply: le_summable (summable_mu xi) => x; case/andP: (h01 x) => h0 h1x.
  by rewrite mulr_ge0 //= ler_pimulr.
have first_part : psum (fun x => mu x * \P_[f x] E) <= psum (fun x => mu x * h x) + d2.
  apply: (@le_trans _ _ (psum (fun x => mu x * h x) + d2 * psum mu)); last first.
    by rewrite ler_add2l ler_pimulr // le1_mu.
  rewrite -psumZ // -psumD //; first last.
  - by apply: summableZ.
  - by move=> x; rewrite /= mulr_ge0.
  - by move=> x; rewrite mulr_ge0 //; case/andP: (h01 x).
  apply: le_psum; last by apply: summableD => //; apply: summableZ.
  move=> x; rewrite mulr_ge0 ?ge0_pr //= [d2 * _]mulrC -mulrDr ler_wpmul2l //.
  rewrite /h addr_minl le_minr; apply/andP; split; last exact: h2.
  by apply: le_trans (le1_pr _ _) _; rewrite ler_addl.
apply: le_trans first_part _; rewrite addrA ler_add2r.
apply: le_trans (within_delta_expectation h1 h01) _; rewrite ler_add2r expRD -mulrA.
rewrite ler_wpmul2l ?expR_ge0 //; apply: le_psum_scaled; first exact: expR_ge0.
- by move=> x; rewrite mulr_ge0 //; case/andP: (h01 x).
- by move=> x; rewrite mulrCA ler_wpmul2l // /h le_minl lexx orbT.
- apply: le_summable (summable_mu nu) => x.
  by rewrite mulr_ge0 ?ge0_pr //= ler_pimulr // le1_pr.
Qed.

Theorem within_delta_post eps delta mu nu (f : T -> {distr U / R}) :
  within_delta eps delta mu nu -> within_delta eps delta (\dlet_(x <- mu) f x) (\dlet_(x <- nu) f x).
Proof.
move=> h; rewrite -[eps]addr0 -[delta]addr0; apply: within_delta_compose => // x E.
by rewrite expR0 mul1r addr0.
Qed.

End Composition.
