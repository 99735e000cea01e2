(** * Top-c over an unknown domain: the accounting by bounded range

    The mechanism is [observed] (observed_domain.v): peel with a bottom at rate e. Here its rounds are paid
    for by bounded range (bounded_range.v) in place of equal shares of epsilon.

    Between the two neighbours stands the race among the candidates common to both, and the bottom. Its
    rounds are e-bounded-range; and leaving out the candidates that are not common moves the law by at most
    delta0 in total variation, on either side.

    Exported:
    - [round_bounded_range]: where every log-weight rises by 0 to e, the round is e-bounded-range.
    - [common_race_is_private]: the race among common candidates is (eps, delta)-private if for a rational
      alpha > 1: (c e^2 / 8) alpha + [ln(1/delta) + (alpha - 1) ln(1 - 1/alpha) - ln alpha] / (alpha - 1) <= eps;
      or if c e <= eps: the code takes e = eps / c where no alpha gives more.
    - [observed_domain_by_bounded_range]: if that holds with delta / 2, and t >= ln(min(m, dbar) / delta0) / e
      with delta0 = delta / (2 (1 + e^eps)), the labels are (eps, delta)-private, both ways. *)

From mathcomp Require Import finmap.
From mathcomp.analysis Require Import nsatz_realtype.
From Sparsegate Require Import prelude privacy approximate exponential_mechanism race candidates observed_domain.
From Sparsegate Require Import renyi bounded_range.
Local Open Scope fset_scope.
Local Open Scope ring_scope.

Lemma restricted_alike (I : choiceType) (A A' : {fset I}) :
  [fset i in A' | (i \in A) && (i \in A')] = [fset i in A | (i \in A) && (i \in A')].
Proof. by apply/fsetP => i; rewrite !inE; case: (i \in A); case: (i \in A'). Qed.

Section Common.
Context {R : realType} {I : choiceType}.
Variables (a e B B' : R) (q q' : I -> R).
Hypotheses (rise : forall i, a * q i <= a * q' i <= e + a * q i) (bottom_rise : a * B <= a * B' <= e + a * B).
Implicit Types (A : {fset I}) (c n num den : nat).

Theorem round_bounded_range A : bounded_range e (race_round a q' B' A) (race_round a q B A).
Proof.
set W := round_total a q B A; set W' := round_total a q' B' A.
have W_gt0 : 0 < W by apply: round_total_gt0.
have W'_gt0 : 0 < W' by apply: round_total_gt0.
exists (ln (W / W')).
have step x x' : x <= x' <= e + x ->
    expR (ln (W / W')) * (expR x / W) <= expR x' / W' <= expR (ln (W / W') + e) * (expR x / W).
  move=> /andP[lo hi]; rewrite expRD lnK ?posrE ?divr_gt0 //.
  have arith (w wi wj k y : R) : w * wi = 1 -> w * wj * k * (y * wi) = k * y * wj by move=> inv; nsatz.
  have cancel k : W / W' * k * (expR x / W) = k * expR x / W' by apply: arith; rewrite divff ?gt_eqF.
  have := cancel 1; rewrite mulr1 mul1r => ->; rewrite cancel -expRD.
  by rewrite !ler_pmul2r ?invr_gt0 // !ler_expR lo.
case=> [i|]; last by rewrite !round_bottom; apply: step.
by rewrite !round_candidate; case: ifP => _; [apply: step | rewrite !mulr0 lexx].
Qed.

Lemma race_moment num den A n : (0 < den <= num)%N -> let alpha := num%:R / den%:R in
  let M := expR (alpha * (alpha - 1) * e ^+ 2 / 8) ^+ n in
  moment_within alpha M (race a q B A n) (race a q' B' A n) /\
  moment_within alpha M (race a q' B' A n) (race a q B A n).
Proof.
move=> order alpha; have ge1 : 1 <= expR (alpha * (alpha - 1) * e ^+ 2 / 8).
  have /andP[den_gt0 le] := order; have alpha_ge1 : 1 <= alpha by rewrite ler_pdivl_mulr ?ltr0n // mul1r ler_nat.
  have alpha_ge0 : 0 <= alpha := le_trans ler01 alpha_ge1.
  rewrite -[leLHS]expR0 ler_expR; apply: divr_ge0; rewrite ?ler0n //.
  by apply: mulr_ge0; rewrite ?sqr_ge0 //; apply: mulr_ge0; rewrite ?subr_ge0.
have after k : moment_within alpha (expR (alpha * (alpha - 1) * e ^+ 2 / 8) ^+ k) (dunit [::]) (dunit [::])
    by apply: moment_weaken (moment_refl alpha _); apply: exprn_ege1.
elim: n A => [|n IH] A; first by split; rewrite /= expr0; apply: moment_refl.
have K_ge0 : 0 <= expR (alpha * (alpha - 1) * e ^+ 2 / 8) ^+ n by rewrite exprn_ge0 ?expR_ge0.
split; rewrite /= exprS; apply: moments_multiply => // [|[i|]]; try (by case: (IH (A `\ i))); try exact: after.
  apply: bounded_range_moment order; rewrite ?round_sums_to_one //.
  by apply: bounded_range_sym; apply: round_bounded_range.
by apply: bounded_range_moment order; rewrite ?round_sums_to_one //; apply: round_bounded_range.
Qed.

(** Rounds that share eps need no alpha: a bounded-range round is private by itself. *)
Lemma common_race_by_shares eps A c : c%:R * e <= eps ->
  within eps (race a q B A c) (race a q' B' A c) /\ within eps (race a q' B' A c) (race a q B A c).
Proof.
move=> shares; have e_ge0 : 0 <= e.
  by have /andP[lo /(le_trans lo)] := bottom_rise; rewrite ler_addr.
have near (A' : {fset I}) : within e (race_round a q' B' A') (race_round a q B A') /\
    within e (race_round a q B A') (race_round a q' B' A').
  by apply: bounded_range_is_private; rewrite ?round_sums_to_one //; apply: round_bounded_range.
have all_good (t : seq (option I)) : all (oapp (fun=> true) true) t by elim: t => //= -[].
split; apply: within_weaken shares _ => t.
  apply: (@race_ratio _ _ _ _ _ _ _ _ _ (fun=> true) eq) => // [A1 _ <- o _|A1 _ i <- //].
  by case: (near A1).
apply: (@race_ratio _ _ _ _ _ _ _ _ _ (fun=> true) eq) => // [A1 _ <- o _|A1 _ i <- //].
by case: (near A1).
Qed.

Theorem common_race_is_private eps delta num den A c : (0 < den < num)%N -> 0 < delta ->
  let alpha := num%:R / den%:R in
  c%:R * e <= eps \/
  c%:R * e ^+ 2 / 8 * alpha + (ln (delta^-1) + (alpha - 1) * ln (1 - alpha^-1) - ln alpha) / (alpha - 1) <= eps ->
  within_delta eps delta (race a q B A c) (race a q' B' A c) /\
  within_delta eps delta (race a q' B' A c) (race a q B A c).
Proof.
move=> order delta_gt0 alpha [shares|price].
  have [one two] := common_race_by_shares A shares.
  by split; apply: within_delta_weaken (lexx _) (ltW delta_gt0) _; apply: within_is_delta.
have order' : (0 < den <= num)%N by case/andP: order => -> /ltnW.
have [one two] := race_moment A c order'.
by split; apply: rounds_price price.
Qed.

End Common.

Section Observed.
Context {R : realType} {d : unit} {T : orderType d}.
Implicit Types (h : @table d T) (e eps delta : R) (Delta margin dbar m c num den : nat).

Theorem observed_domain_by_bounded_range e eps delta Delta margin m dbar c num den h h' :
  0 < e -> 0 < delta -> (0 < Delta)%N -> (0 < den < num)%N -> table_neighbours Delta m h h' ->
  let alpha := num%:R / den%:R in
  c%:R * e <= eps \/
  c%:R * e ^+ 2 / 8 * alpha
    + (ln ((delta / 2)^-1) + (alpha - 1) * ln (1 - alpha^-1) - ln alpha) / (alpha - 1) <= eps ->
  let delta0 := delta / (2 * (1 + expR eps)) in
  ln ((minn m dbar)%:R / delta0) / e <= margin%:R ->
  within_delta eps delta (observed e Delta margin dbar c h) (observed e Delta margin dbar c h') /\
  within_delta eps delta (observed e Delta margin dbar c h') (observed e Delta margin dbar c h).
Proof.
move=> e_gt0 delta_gt0 D_gt0 order near alpha price delta0 margin_le.
have one_gt0 : 0 < 1 + expR eps by rewrite addr_gt0 ?ltr01 ?expR_gt0.
have delta0_gt0 : 0 < delta0 by rewrite divr_gt0 // mulr_gt0 ?ltr0n.
have small := margin_bound e_gt0 delta0_gt0 margin_le.
have [rare rare'] := sides_hardly_appear margin dbar c D_gt0 (ltW e_gt0) near.
have [to from] := race_near_restricted (le_trans rare small).
have [to' from'] := race_near_restricted (le_trans rare' small).
have same : [fset i in candidates h' dbar | common dbar h h' i] = [fset i in candidates h dbar | common dbar h h' i].
  exact: restricted_alike.
rewrite same in to' from'.
have half_gt0 : 0 < delta / 2 by rewrite divr_gt0 ?ltr0n.
have rise i : e / Delta%:R * (score h i)%:R <= e / Delta%:R * (score h' i)%:R <= e + e / Delta%:R * (score h i)%:R.
  by have /andP[lo hi] := score_rises near i; rewrite rate_mono ?rate_step // ltW.
have bottom_rise : e / Delta%:R * (bottom Delta margin dbar h)%:R <= e / Delta%:R * (bottom Delta margin dbar h')%:R
    <= e + e / Delta%:R * (bottom Delta margin dbar h)%:R.
  by have /andP[lo hi] := bottom_moves margin dbar near; rewrite rate_mono ?rate_step // ltW.
have [priv priv'] := common_race_is_private rise bottom_rise
  [fset i in candidates h dbar | common dbar h h' i] order half_gt0 price.
have delta_eq : delta / 2 + delta0 * (1 + expR eps) = delta.
  rewrite /delta0 invfM mulrA mulfVK ?gt_eqF // -splitr //.
by split; apply: within_delta_post; rewrite -delta_eq;
  [apply: within_delta_near to from' priv | apply: within_delta_near to' from priv'].
Qed.

End Observed.
