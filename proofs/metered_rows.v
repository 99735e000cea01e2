(** * Metered gates without gaps

    [metered.v] for the gates that answer with one bit: of Laplace noise ([standard_gate.v], [two_sided_gate.v]) or of
    exponential noise ([exponential_gate.v]). Those with gaps are in [metered_gates.v].

    - [row]: the public numbers of a gate, chosen when it is opened by whoever asks, with all answers of all gates so
      far in view: which noise, whether the gate is two-sided, whether the questions are monotonic, Delta, the cutoff
      c, kappa (of exponential noise), eps1 and eps2. [proper]: Delta, c, eps1 and eps2 are positive, and a two-sided
      gate has Laplace noise.
    - The gate is charged eps1 + eps2 ([charge]). It has ended after c ABOVE, a two-sided one after c of the rarer
      answer; when it is shut it counts with [meter], L(m,k) of its own answers.

    [metered_rows_are_private]: under a budget B the joint history of all gates, of both noises, interleaved and opened
    and shut as one likes, is B-DP. [metered_rows_sum_to_one]: it is a whole law. *)

From Sparsegate Require Import prelude privacy sums laplace geometric gate laplace_gate standard_gate transcripts.
From Sparsegate Require Import two_sided_gate exponential_gate side_by_side metered.
Local Open Scope ring_scope.

Section Rows.
Variable F : choiceType.

Record row := Row {
  one_sided_noise : bool; two_sided : bool; monotonic : bool; Delta : nat; cutoff : nat; kappa : int; eps1 : F; eps2 : F }.

Definition fields p :=
  (one_sided_noise p, two_sided p, monotonic p, Delta p, cutoff p, kappa p, eps1 p, eps2 p).
Definition of_fields (x : bool * bool * bool * nat * nat * int * F * F) :=
  let: (a, b, c, d, e, f, g, h) := x in Row a b c d e f g h.

Lemma fieldsK : cancel fields of_fields.
Proof. by case. Qed.

Definition row_eqMixin := CanEqMixin fieldsK.
Canonical row_eqType := EqType row row_eqMixin.
Definition row_choiceMixin := CanChoiceMixin fieldsK.
Canonical row_choiceType := ChoiceType row row_choiceMixin.

End Rows.

(** Laplace noise, with the answers of one gate of many. *)
Section Laplace.
Context {R : realType} {X : choiceType}.
Variables (D : nat) (e1 r : R) (T : seq X -> int).
Hypotheses (D0 : (0 < D)%N) (e10 : 0 < e1) (r0 : 0 < r).
Implicit Types (q : seq X -> int) (l : seq (seq X * bool)).

Local Notation said q l := (likelihood (laplace (e1 / D%:R)) (fun h => compare (r / D%:R) (q h) (T h)) l).

Lemma laplace_aligned q q' (e u v : nat) l : shift D q q' e u v ->
  said q l <= expR (e%:R * e1 + ((above l)%:R * (u%:R * r) + (below l)%:R * (v%:R * r))) * said q' l.
Proof.
move=> [s [s_le up down]]; have D_gt0 : 0 < D%:R :> R by rewrite ltr0n.
pose c1 := e1 / D%:R * `|s|%:~R; pose w (y : seq X * bool) := if y.2 then u%:R * r else v%:R * r.
have -> : (above l)%:R * (u%:R * r) + (below l)%:R * (v%:R * r) = \sum_(y <- l) w y.
  by rewrite /w (sum_by_kind id).
apply: le_trans (@likelihood_aligned _ _ _ _ _ (fun h => compare (r / D%:R) (q' h) (T h)) l s c1 w _ _) _.
- by move=> rho; apply: laplace_mass_ratio; apply: divr_gt0.
- move=> [h b] _ rho /=; have a0 : 0 < r / D%:R by apply: divr_gt0.
  apply: le_trans (@compare_ratio _ _ (q h) (q' h) (T h) rho s b a0) _.
  rewrite ler_wpmul2r // ler_expR /answer_cost /w /=.
  by case: b; apply: steps_cost => //; rewrite le_maxl; apply/andP.
rewrite ler_wpmul2r ?ge0_psum // ler_expR ler_add2r; exact: steps_cost.
Qed.

Definition laplace_loss (monotone : bool) := if monotone then monotonic_loss e1 r else general_loss e1 r.

Lemma laplace_likelihood monotone q q' l : neighbours monotone D q q' ->
  said q l <= expR (laplace_loss monotone (below l) (above l)) * said q' l.
Proof.
case: monotone => -[qq' one]; rewrite /laplace_loss /=; last first.
  rewrite /general_loss; apply: le_expR_min; last apply: le_expR_min.
  - by have := laplace_aligned l (shift_none qq'); rewrite mul0r add0r mul1r -mulrDl -natrD addnC.
  - by have := laplace_aligned l (shift_up qq'); rewrite mul1r mul0r mulr0 addr0 mulrCA mulrA.
  - by have := laplace_aligned l (shift_down qq'); rewrite mul1r mul0r mulr0 add0r mulrCA mulrA.
have larger x y : x <= y -> said q l <= expR x * said q' l -> said q l <= expR y * said q' l.
  by move=> le /le_trans; apply; rewrite ler_wpmul2r ?ge0_psum // ler_expR.
case: (one isT) => le; [apply: (@larger (rising_loss e1 r (below l) (above l)))
  | apply: (@larger (falling_loss e1 r (below l) (above l)))]; rewrite ?le_maxr ?lexx ?orbT //; apply: le_expR_min.
- by have := laplace_aligned l (rising_none qq' le); rewrite !mul0r mulr0 !add0r mul1r.
- by have := laplace_aligned l (rising_up qq' le); rewrite !mul1r mul0r mulr0 addr0.
- by have := laplace_aligned l (falling_none qq' le); rewrite !mul0r mulr0 add0r addr0 mul1r.
- by have := laplace_aligned l (falling_down qq' le); rewrite !mul1r mul0r mulr0 add0r.
Qed.

End Laplace.

(** ** One gate *)
Section Gate.
Context {R : realType}.
Implicit Types (p : row R) (s : seq bool).

Definition proper p :=
  [&& (0 < Delta p)%N, (0 < cutoff p)%N, 0 < eps1 p, 0 < eps2 p & ~~ (one_sided_noise p && two_sided p)].

(** What a comparison that moves by Delta costs: nu has scale s c Delta / eps2. *)
Definition rate p : R := eps2 p / (sides (monotonic p) * cutoff p)%:R.

Definition noise p : R -> {distr int / R} := if one_sided_noise p then geometric else laplace.
Definition threshold_noise p : {distr int / R} := noise p (eps1 p / (Delta p)%:R).

Definition answer p (q T rho : int) : {distr bool / R} :=
  if one_sided_noise p then one_sided (rate p / (Delta p)%:R) q T (kappa p) rho
  else compare (rate p / (Delta p)%:R) q T rho.

Definition charge p := eps1 p + eps2 p.
Definition ended p s := if two_sided p then closed_after_both (cutoff p) s else (cutoff p <= count id s)%N.

Definition meter p s : R :=
  let L u := exponential_loss u (eps1 p) (rate p) (count negb s) (count id s) in
  if one_sided_noise p then if monotonic p then Num.max (L Up) (L Down) else L Any
  else laplace_loss (eps1 p) (rate p) (monotonic p) (count negb s) (count id s).

Lemma rate_gt0 p : proper p -> 0 < rate p.
Proof. by case/and5P=> _ c0 _ e0 _; rewrite divr_gt0 // ltr0n muln_gt0 c0; case: (monotonic p). Qed.

Lemma rate_times p n : proper p -> (n <= cutoff p)%N -> n%:R * ((sides (monotonic p))%:R * rate p) <= eps2 p.
Proof.
case/and5P=> _ c0 _ e2 _ le_n; rewrite /rate natrM invfM.
have s0 : (sides (monotonic p))%:R != 0 :> R by case: (monotonic p); rewrite pnatr_eq0.
by rewrite (mulrCA _ (eps2 p)) mulVKf // mulrCA ger_pmulr // ler_pdivr_mulr ?ltr0n // mul1r ler_nat.
Qed.

Lemma allowed_counts p s : allowed ended p s ->
  ((if two_sided p then rarer s else count id s) <= cutoff p)%N.
Proof.
case/lastP: s => [|s a /allP ok]; first by case: ifP.
have := ok (size s); rewrite mem_iota size_rcons ltnSn -cats1 take_size_cat // => /(_ isT).
rewrite /ended; case: ifP => _; rewrite -ltnNge => lt; rewrite cats1.
  exact: leq_trans (rarer_rcons s a) lt.
rewrite -cats1 count_cat /= addn0; apply: leq_trans lt.
by rewrite -addn1 leq_add2l leq_b1.
Qed.

Lemma meter_le_charge p s : proper p -> allowed ended p s -> meter p s <= charge p.
Proof.
move=> ok /allowed_counts le_c; have r0 := ltW (rate_gt0 ok); have /and5P[_ _ e1 _ no] := ok.
have le_rarer : (rarer s <= cutoff p)%N.
  by move: le_c; case: ifP => // _; apply: leq_trans; apply: geq_minr.
rewrite /meter; case: (one_sided_noise p) no => [/= two|_].
  rewrite (negbTE two) in le_c.
  have le u : reach u = sides (monotonic p) ->
      exponential_loss u (eps1 p) (rate p) (count negb s) (count id s) <= charge p.
    move=> s_u; apply: le_trans (exponential_loss_le _ _ _ (ltW e1) r0) _.
    by rewrite ler_add2l s_u rate_times.
  by case mono: (monotonic p) => /=; rewrite ?le_maxl ?(le Up) ?(le Down) ?(le Any) // mono.
have := rate_times ok le_rarer; rewrite /laplace_loss /charge; case: (monotonic p) => /= le.
  by apply: le_trans (monotonic_loss_rarer e1 _ _ r0) _; rewrite ler_add2l; rewrite mul1r in le.
apply: le_trans (general_loss_rarer _ _ _ r0) _; rewrite ler_add2l.
by rewrite mulrAC mulrC.
Qed.

Lemma meter_ratio (X : choiceType) (q q' T : seq X -> int) p (l : seq (seq X * bool)) :
  proper p -> neighbours (monotonic p) (Delta p) q q' ->
  likelihood (threshold_noise p) (fun h => answer p (q h) (T h)) l <=
  expR (meter p [seq y.2 | y <- l]) * likelihood (threshold_noise p) (fun h => answer p (q' h) (T h)) l.
Proof.
move=> ok near_q; have r0 := rate_gt0 ok; have /and5P[D0 _ e1 _ _] := ok.
rewrite /meter /threshold_noise /noise /answer; case: (one_sided_noise p); last exact: laplace_likelihood.
have [u mv s_u] := neighbours_move near_q.
apply: le_trans (exponential_likelihood T (kappa p) l D0 e1 r0 mv) _.
rewrite ler_wpmul2r ?ge0_psum // ler_expR.
by case: (monotonic p) s_u; case: u {mv} => //= _; rewrite le_maxr lexx ?orbT.
Qed.

Lemma threshold_noise_sums_to_one p : proper p -> psum (threshold_noise p) = 1.
Proof.
case/and5P=> D0 _ e1 _ _; have pos : 0 < eps1 p / (Delta p)%:R by rewrite divr_gt0 ?ltr0n.
by rewrite /threshold_noise /noise; case: ifP => _; [exact: geometric_sums_to_one | exact: laplace_sums_to_one].
Qed.

Lemma answer_sums_to_one p q T rho : proper p -> psum (answer p q T rho) = 1.
Proof.
move=> ok; have /and5P[D0 _ _ _ _] := ok.
have pos : 0 < rate p / (Delta p)%:R by rewrite divr_gt0 ?ltr0n ?rate_gt0.
by rewrite /answer; case: ifP => _; [exact: one_sided_sums_to_one | exact: compare_sums_to_one].
Qed.

End Gate.

(** ** All of them *)
Section Gates.
Context {R : realType}.
Notation history := (@history [choiceType of row R] [choiceType of bool]).
Implicit Types (q T : row R -> history -> int).

Definition metered_rows B act q T n : {distr history / R} :=
  metered threshold_noise proper charge meter ended B act (fun p h => answer p (q p h) (T p h)) n.

Theorem metered_rows_are_private B act q q' T n :
  0 <= B -> (forall p, neighbours (monotonic p) (Delta p) (q p) (q' p)) ->
  within B (metered_rows B act q T n) (metered_rows B act q' T n).
Proof.
move=> B0 near_q; apply: metered_is_private => //; first exact: meter_le_charge.
by move=> p l ok _; apply: meter_ratio.
Qed.

Theorem metered_rows_sum_to_one B act q T n : psum (metered_rows B act q T n) = 1.
Proof.
apply: metered_sums_to_one => p => [|h x]; [exact: threshold_noise_sums_to_one | exact: answer_sums_to_one].
Qed.

End Gates.
