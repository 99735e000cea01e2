(** * Traps of the newer gates

    Two changes that look harmless, and leave no epsilon at all.

    A minus sign on one of the two noises of the exponential gate (rho and nu geometric; [minus_gate]):

    - [minus_query_noise]: if ABOVE means q - nu >= T + rho + kappa, then q = T + kappa may be ABOVE
      and q = T + kappa - Delta cannot;
    - [minus_threshold_noise]: if ABOVE means q + nu >= T - rho + kappa, then q = T + kappa - 1 may be
      BELOW and q = T + kappa - 1 + Delta cannot;
    - [minus_query_noise_is_not_private], [minus_threshold_noise_is_not_private]: so one question is
      enough, and no eps' is.

    The gap q + nu - T - rho released with every answer, not with an ABOVE alone ([all_gaps]; Laplace
    noise, nu of scale Delta/r, closed after c gaps that are not negative). The lists
    (T-1)^t (T-1+Delta)^t and (T-1-Delta)^t (T-1+2 Delta)^t, transcript: 2t times the gap -1, all BELOW.
    On the first list rho = 0 alone has more than e^(2tr) times what all of the second has:

    - [all_gaps_loss_grows]: Pr[t | D] >= Pr[rho = 0] e^(2tr) Pr[t | D'] > 0;
    - [all_gaps_is_not_private]: no eps' is enough.

    [minus_gate_sums_to_one], [all_gaps_sums_to_one]: they are whole laws. *)

From Sparsegate Require Import prelude privacy sums laplace geometric gate laplace_gate standard_gate rows no_cutoff.
Local Open Scope ring_scope.

Section MinusSign.
Context {R : realType}.
Variables (eps1 r : R) (c Delta : nat) (T kappa : int).
Hypotheses (eps10 : 0 < eps1) (r0 : 0 < r) (c0 : (0 < c)%N) (Delta0 : (0 < Delta)%N).
Implicit Types (cmp : int -> int -> {distr bool / R}) (q rho : int).

Let a0 : 0 < eps1 / Delta%:R. Proof. by rewrite divr_gt0 ?ltr0n. Qed.
Let b0 : 0 < r / Delta%:R. Proof. by rewrite divr_gt0 ?ltr0n. Qed.

Definition minus_query q rho : {distr bool / R} :=
  \dlet_(nu <- geometric (r / Delta%:R)) dunit (T + rho + kappa <= q - nu).

Definition minus_threshold q rho : {distr bool / R} :=
  \dlet_(nu <- geometric (r / Delta%:R)) dunit (T - rho + kappa <= q + nu).

Definition minus_gate cmp (u : seq int) : {distr (seq bool) / R} :=
  gate (geometric (eps1 / Delta%:R)) (closed_after id c) (asked_row cmp u) (size u).

Theorem minus_gate_sums_to_one u :
  psum (minus_gate minus_query u) = 1 /\ psum (minus_gate minus_threshold u) = 1.
Proof.
split; apply: gate_sums_to_one => [|h rho]; do ?exact: geometric_sums_to_one.
all: apply: dlet_sums_to_one => [|nu]; [exact: geometric_sums_to_one | exact: dunit_sums_to_one].
Qed.

Lemma open_at_first x : complete (closed_after id c) 1 [::] [:: x].
Proof. by rewrite /= /closed_after /= -ltnNge c0. Qed.

(** What can be with rho = nu = 0, and what cannot with any rho, nu >= 0. *)
Lemma possible (f : int -> int -> int -> bool) x (y : bool) :
  f x 0 0 = y ->
  0 < minus_gate (fun q rho => \dlet_(nu <- geometric (r / Delta%:R)) dunit (f q rho nu)) [:: x] [:: y].
Proof.
move=> f0; apply: (gate_gt0 (rho := 0)); rewrite ?open_at_first ?geometric_gt0 //= mulr1.
rewrite /asked_row lt_neqAle ge0_mu andbT eq_sym dletE; apply/eqP.
move/(eq0_psum (summable_mlet _ _ _)) => /(_ 0) /eqP.
by rewrite dunit1E f0 eqxx mulr1 gt_eqF // geometric_gt0.
Qed.

Lemma impossible (f : int -> int -> int -> bool) x (y : bool) :
  (forall rho nu, 0 <= rho -> 0 <= nu -> f x rho nu != y) ->
  minus_gate (fun q rho => \dlet_(nu <- geometric (r / Delta%:R)) dunit (f q rho nu)) [:: x] [:: y] = 0.
Proof.
move=> never_y; rewrite /minus_gate gate_product open_at_first mul1r; apply: psum_eq0 => rho /=.
have [rho0|rho0] := leP 0 rho; last by rewrite geometric_neg ?mul0r.
rewrite mulr1 /asked_row dletE psum_eq0 ?mulr0 // => nu.
have [nu0|nu0] := leP 0 nu; last by rewrite geometric_neg ?mul0r.
by rewrite dunit1E (negbTE (never_y _ _ rho0 nu0)) mulr0.
Qed.

Theorem minus_query_noise :
  0 < minus_gate minus_query [:: T + kappa] [:: true] /\
  minus_gate minus_query [:: T + kappa - Delta%:Z] [:: true] = 0.
Proof.
split; first by apply: (possible (f := fun q rho nu => T + rho + kappa <= q - nu)); rewrite addr0 subr0 lexx.
apply: (impossible (f := fun q rho nu => T + rho + kappa <= q - nu)) => rho nu rho0 nu0.
rewrite eqb_id -ltNge [T + rho + _]addrAC -!addrA !ltr_add2l.
by apply: lt_le_trans rho0; rewrite -opprD oppr_lt0 ltr_paddr // ltz_nat.
Qed.

Theorem minus_threshold_noise :
  0 < minus_gate minus_threshold [:: T + kappa - 1] [:: false] /\
  minus_gate minus_threshold [:: T + kappa - 1 + Delta%:Z] [:: false] = 0.
Proof.
split.
  apply: (possible (f := fun q rho nu => T - rho + kappa <= q + nu)).
  by rewrite subr0 addr0; apply/negbTE; rewrite -ltNge ltr_subl_addr ltr_addl.
apply: (impossible (f := fun q rho nu => T - rho + kappa <= q + nu)) => rho nu rho0 nu0.
rewrite eqbF_neg negbK [T - rho + _]addrAC -!addrA !ler_add2l.
apply: le_trans (_ : 0 <= _); first by rewrite oppr_le0.
by rewrite addrA addr_ge0 // addrC subr_ge0 lez_nat.
Qed.

Theorem minus_query_noise_is_not_private eps' : refutable Delta eps' (minus_gate minus_query).
Proof.
have [pos zero] := minus_query_noise.
exists [:: T + kappa], [:: T + kappa - Delta%:Z], [:: true]; rewrite zero mulr0; split=> //.
by apply: (@block_neighbouring _ 1 0 _ _ 0 0); rewrite ?subrr ?normr0 // addrAC subrr add0r normrN.
Qed.

Theorem minus_threshold_noise_is_not_private eps' : refutable Delta eps' (minus_gate minus_threshold).
Proof.
have [pos zero] := minus_threshold_noise.
exists [:: T + kappa - 1], [:: T + kappa - 1 + Delta%:Z], [:: false]; rewrite zero mulr0; split=> //.
by apply: (@block_neighbouring _ 1 0 _ _ 0 0); rewrite ?subrr ?normr0 // addrAC subrr add0r.
Qed.

End MinusSign.

Section AllGaps.
Context {R : realType}.
Variables (eps1 r : R) (c Delta : nat) (T : int).
Hypotheses (eps10 : 0 < eps1) (r0 : 0 < r) (c0 : (0 < c)%N) (Delta0 : (0 < Delta)%N).
Implicit Types (q rho g : int).

Local Notation a := (eps1 / Delta%:R).
Local Notation b := (r / Delta%:R).

Let a0 : 0 < a. Proof. by rewrite divr_gt0 ?ltr0n. Qed.
Let b0 : 0 < b. Proof. by rewrite divr_gt0 ?ltr0n. Qed.

Definition gap q rho : {distr int / R} := \dlet_(nu <- laplace b) dunit (q + nu - (T + rho)).

Definition all_gaps (u : seq int) : {distr (seq int) / R} :=
  gate (laplace a) (closed_after (fun g => 0 <= g) c) (asked_row gap u) (size u).

Theorem all_gaps_sums_to_one u : psum (all_gaps u) = 1.
Proof.
apply: gate_sums_to_one => [|h rho]; first exact: laplace_sums_to_one.
apply: dlet_sums_to_one => [|nu]; [exact: laplace_sums_to_one | exact: dunit_sums_to_one].
Qed.

Lemma gapE q rho g : gap q rho g = laplace b (g + (T + rho) - q).
Proof.
rewrite /gap dletE (psum_point (x := g + (T + rho) - q)).
  by rewrite [q + _]addrC subrK addrK dunit1E eqxx mulr1 ger0_norm.
move=> nu neq; rewrite dunit1E (_ : (_ == _) = false) ?mulr0 //; apply/negbTE.
by apply: contra neq => /eqP <-; rewrite subrK [q + nu]addrC addrK.
Qed.

Definition narrow t := block t t (T - 1) (T - 1 + Delta%:Z).
Definition broad t := block t t (T - 1 - Delta%:Z) (T - 1 + Delta%:Z + Delta%:Z).
Definition all_below t : seq int := block t t (- 1) (- 1).

Lemma all_below_complete t :
  complete (closed_after (fun g => 0 <= g) c) (t + t) [::] (all_below t).
Proof.
rewrite /all_below /block -nseqD -[nseq _ _]cats0 -{1}[(t + t)%N]addn0.
exact: (@complete_block _ _ _ _ 0 _ 0).
Qed.

Let product t x y : all_gaps (block t t x y) (all_below t) =
  psum (fun rho => laplace a rho *
    (laplace b (T - 1 - x + rho) ^+ t * laplace b (T - 1 - y + rho) ^+ t)).
Proof.
rewrite /all_gaps gate_product size_block all_below_complete mul1r; apply: eq_psum => rho.
have E z : - 1 + (T + rho) - z = T - 1 - z + rho by rewrite addrA [- 1 + T]addrC addrAC.
by rewrite along_block !gapE !E.
Qed.

Let mean_le (f : int -> R) (k : R) : (forall rho, 0 <= f rho) -> (forall rho, f rho <= k) ->
  psum (fun rho => laplace a rho * f rho) <= k.
Proof.
move=> f0 fk; have k0 : 0 <= k by apply: le_trans (f0 0) (fk 0).
have -> : k = k * psum (laplace a) by rewrite laplace_sums_to_one // mulr1.
apply: le_psum_scaled => // rho; first by rewrite mulr_ge0.
by rewrite mulrC; apply: ler_wpmul2r.
Qed.

(** |rho + Delta| + |rho - 2 Delta| >= 3 Delta. *)
Lemma broad_le rho : laplace b (rho + Delta%:Z) * laplace b (rho - Delta%:Z - Delta%:Z) <=
  laplace b 0 * (expR (- (2 * r)) * laplace b Delta%:Z).
Proof.
set K := (1 - expR (- b)) / (1 + expR (- b)).
have K0 : 0 <= K by rewrite divr_ge0 ?ltW ?one_minus_decay_gt0 ?one_plus_expR_gt0.
rewrite !laplaceE // /laplace_mass -/K [leLHS]mulrACA (mulrCA _ K) [leRHS]mulrACA ler_wpmul2l ?(mulr_ge0 K0 K0) //.
rewrite normr0 mulr0 oppr0 expR0 mul1r -!expRD ler_expR -!opprD ler_opp2 -mulrDr.
have -> : 2 * r + b * `|Delta%:Z|%:~R = b * (Delta%:Z + Delta%:Z + Delta%:Z)%:~R.
  have rE : b * Delta%:Z%:~R = r by rewrite -pmulrn divfK ?gt_eqF ?ltr0n.
  by rewrite ger0_norm // !intrD !mulrDr rE (mulr_natl r 2) mulr2n.
rewrite ler_pmul2l // -intrD ler_int -[rho - _ - _]addrA -opprD.
apply: le_trans (ler_norm_sub _ _).
by rewrite opprB [X in `|X|]addrC subrKA ler_norm.
Qed.

Theorem all_gaps_loss_grows t :
  0 < all_gaps (broad t) (all_below t) /\
  laplace a 0 * expR (t%:R * (2 * r)) * all_gaps (broad t) (all_below t) <=
  all_gaps (narrow t) (all_below t).
Proof.
split.
  apply: (gate_gt0 (rho := 0)); rewrite ?size_block ?all_below_complete ?laplace_gt0 //.
  by rewrite along_block mulr_gt0 // exprn_gt0 // gapE laplace_gt0.
pose l := laplace b 0 * laplace b Delta%:Z.
have l0 : 0 <= l by apply: mulr_ge0; apply: ge0_mu.
have k0 : 0 <= expR (- (2 * r)) * l by apply: mulr_ge0 (ltW (expR_gt0 _)) l0.
have le : all_gaps (broad t) (all_below t) <= (expR (- (2 * r)) * l) ^+ t.
  rewrite product; apply: mean_le => rho; first by apply: mulr_ge0; apply: exprn_ge0; apply: ge0_mu.
  rewrite -exprMn; apply: ler_expn2r; [by apply: mulr_ge0; apply: ge0_mu | exact: k0 | ].
  have -> : T - 1 - (T - 1 - Delta%:Z) + rho = rho + Delta%:Z by rewrite subKr addrC.
  have -> : T - 1 - (T - 1 + Delta%:Z + Delta%:Z) + rho = rho - Delta%:Z - Delta%:Z.
    by rewrite -(addrA (T - 1) Delta%:Z) opprD (addrA (T - 1)) subrr add0r addrC opprD addrA.
  apply: le_trans (broad_le rho) _; rewrite le_eqVlt; apply/orP; left; apply/eqP; exact: mulrCA.
apply: (@le_trans _ _ (laplace a 0 * l ^+ t)).
  rewrite -mulrA ler_wpmul2l //.
  apply: le_trans (ler_wpmul2l (ltW (expR_gt0 _)) le) _.
  by rewrite expRMm -exprMn mulrA -expRD subrr expR0 mul1r.
rewrite product; set f := fun rho => _.
have f0 rho : 0 <= f rho by apply: mulr_ge0 => //; apply: mulr_ge0; apply: exprn_ge0.
have sf : summable f.
  apply: summable_mu_wgtd => rho; apply/andP; split; first by apply: mulr_ge0; apply: exprn_ge0.
  by apply: mulr_ile1; do ?[exact: exprn_ge0 | apply: exprn_ile1 => //; exact: le1_mu1].
apply: le_trans (ger1_psum 0 sf); rewrite ger0_norm // /f !addr0 subrr opprD addrA subrr sub0r.
by rewrite laplaceN // -exprMn.
Qed.

Theorem all_gaps_is_not_private eps' : refutable Delta eps' all_gaps.
Proof.
have [x xE] := expR_total (laplace_gt0 0 a0); have r20 : 0 < 2 * r by rewrite mulr_gt0 ?ltr0n.
have [t lt] := grows_past (eps' - x) r20; have [pos le] := all_gaps_loss_grows t.
have near : neighbouring Delta (narrow t) (broad t).
  apply: block_neighbouring; first by rewrite addrAC subrr add0r normrN.
  by rewrite addrAC subrr add0r.
apply: (refuted near _ pos (loss := x + t%:R * (2 * r))); first by rewrite -ltr_subl_addl.
by rewrite expRD xE.
Qed.

End AllGaps.
