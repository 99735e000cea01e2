(** * The gate with Laplace noise

    rho ~ Lap(Delta/eps1) is drawn once, and nu ~ Lap(Delta/r) afresh for every question, both on
    the integers. After the answers [h] the question is [q h] and its threshold [T h]; both may
    depend on [h] in any way, and [T] is public, the same on both data sets:

        ABOVE  iff  q h + nu >= T h + rho.

    [true] is ABOVE and [false] is BELOW. [laplace_gate] ends after [n] questions or when [closed]
    says so; both are arbitrary. [laplace_gate_sums_to_one]: it is a whole law.

    [near Delta q q']: between neighbours every answer moves by at most Delta lattice steps.
    [one_way q q']: all answers move in one direction, those of counting queries.

    For a transcript of m BELOW and k ABOVE, Pr[t | D] <= e^L(m,k) Pr[t | D'] with

        general    ([general_transcript]):   min{ (m+k) r,  eps1 + 2 k r,  eps1 + 2 m r }
        rising     ([rising_transcript]):    min{ m r,  eps1 + k r }
        falling    ([falling_transcript]):   min{ k r,  eps1 + m r }
        monotonic  ([monotonic_transcript]): the larger of the last two.

    [all_below_costs_eps1] is Lemma 1 of the paper: for every l, BELOW l times is at most e^eps1 times as likely on
    one of two neighbours as on the other. The query noise [nu] may have any law and may change with the history; with
    [dunit 0], which is none, it is what Alg. 5 took for enough ([any_noise_gate]).

    Of the code: it divides answers by the lattice step and rounds Delta up to whole steps; [q] and
    Delta here are those after the division. *)

From Sparsegate Require Import prelude privacy sums laplace gate.
Local Open Scope ring_scope.

Section Comparison.
Context {R : realType}.
Implicit Types (a : R) (q T rho s d : int) (b : bool).

Definition compare a q T rho : {distr bool / R} :=
  \dlet_(nu <- laplace a) dunit (T + rho <= q + nu).

Lemma compare_sums_to_one a q T rho : 0 < a -> psum (compare a q T rho) = 1.
Proof.
move=> a0; apply: dlet_sums_to_one; first exact: laplace_sums_to_one.
by move=> nu; apply: dunit_sums_to_one.
Qed.

Lemma compareE a q T rho b :
  compare a q T rho b =
  if b then laplace_tail a (T + rho - q) else laplace_below a (T + rho - q).
Proof.
rewrite /compare dletE; case: b; apply: eq_psum => nu /=; rewrite dunit1E mulrC.
- by rewrite eqb_id ler_subl_addl.
- by rewrite eqbF_neg -ltNge ltr_subr_addl.
Qed.

(** What one answer costs where the question moves by [d] and rho is matched with rho + s. *)
Definition answer_cost a s d b : R := a * (Num.max 0 (if b then s - d else d - s))%:~R.

Lemma compare_ratio a q q' T rho s b :
  0 < a -> compare a q T rho b <= expR (answer_cost a s (q' - q) b) * compare a q' T (rho + s) b.
Proof.
move=> a0; rewrite !compareE /answer_cost.
have -> : T + (rho + s) - q' = T + rho - q + (s - (q' - q)) by rewrite opprB addrACA addKr addrA.
rewrite -(opprB s); move: (T + rho - q) (s - (q' - q)) => x y.
case: b; case: (leP 0 y) => y0.
- exact: laplace_tail_ratio.
- by rewrite mulr0 expR0 mul1r; apply: laplace_tail_decreases; rewrite ger_addl ltW.
- by rewrite max_l ?oppr_le0 // mulr0 expR0 mul1r; apply: laplace_below_increases; rewrite ler_addl.
have y1 : 0 <= - y by rewrite oppr_ge0 ltW.
by rewrite max_r //; have := laplace_below_ratio x a0 y1; rewrite opprK.
Qed.

End Comparison.

(** The questions on two neighbouring data sets. *)
Section Neighbours.
Context {A : eqType}.
Implicit Types (q : seq A -> int) (h : seq A).

Definition near (Delta : nat) q q' := forall h, `|q' h - q h| <= Delta%:Z.

Definition one_way q q' := (forall h, q h <= q' h) \/ (forall h, q' h <= q h).

(** There is a shift of rho, at most [e] times Delta, that leaves an ABOVE at most [u] times Delta and
    a BELOW at most [v] times Delta to pay for. *)
Definition shift Delta q q' (e u v : nat) := exists s : int, [/\ `|s| <= (e * Delta)%:Z,
  forall h, s - (q' h - q h) <= (u * Delta)%:Z & forall h, q' h - q h - s <= (v * Delta)%:Z].

Lemma near_lo Delta q q' h : near Delta q q' -> - Delta%:Z <= q' h - q h.
Proof. by move/(_ h); rewrite ler_norml => /andP[]. Qed.

Lemma near_hi Delta q q' h : near Delta q q' -> q' h - q h <= Delta%:Z.
Proof. by move/(_ h); apply: le_trans (ler_norm _). Qed.

Lemma shift_none Delta q q' : near Delta q q' -> shift Delta q q' 0 1 1.
Proof.
move=> qq'; exists 0; split=> [|h|h]; rewrite ?normr0 // mul1n.
- by rewrite sub0r ler_oppl near_lo.
- by rewrite subr0 near_hi.
Qed.

Lemma shift_up Delta q q' : near Delta q q' -> shift Delta q q' 1 2 0.
Proof.
move=> qq'; exists Delta%:Z; split=> [|h|h]; rewrite ?mul1n ?mul0n //.
- by rewrite mul2n -addnn PoszD ler_add2l ler_oppl near_lo.
- by rewrite subr_le0 near_hi.
Qed.

Lemma shift_down Delta q q' : near Delta q q' -> shift Delta q q' 1 0 2.
Proof.
move=> qq'; exists (- Delta%:Z); split=> [|h|h]; rewrite ?mul1n ?mul0n ?normrN //.
- by rewrite subr_le0 near_lo.
- by rewrite mul2n -addnn PoszD opprK ler_add2r near_hi.
Qed.

Lemma rising_none Delta q q' :
  near Delta q q' -> (forall h, q h <= q' h) -> shift Delta q q' 0 0 1.
Proof.
move=> qq' le; exists 0; split=> [|h|h]; rewrite ?normr0 ?mul0n ?mul1n //.
- by rewrite sub0r oppr_le0 subr_ge0.
- by rewrite subr0 near_hi.
Qed.

Lemma rising_up Delta q q' :
  near Delta q q' -> (forall h, q h <= q' h) -> shift Delta q q' 1 1 0.
Proof.
move=> qq' le; exists Delta%:Z; split=> [|h|h]; rewrite ?mul0n ?mul1n //.
- by rewrite ger_addl oppr_le0 subr_ge0.
- by rewrite subr_le0 near_hi.
Qed.

Lemma falling_none Delta q q' :
  near Delta q q' -> (forall h, q' h <= q h) -> shift Delta q q' 0 1 0.
Proof.
move=> qq' le; exists 0; split=> [|h|h]; rewrite ?normr0 ?mul0n ?mul1n //.
- by rewrite sub0r ler_oppl near_lo.
- by rewrite subr0 subr_le0.
Qed.

Lemma falling_down Delta q q' :
  near Delta q q' -> (forall h, q' h <= q h) -> shift Delta q q' 1 0 1.
Proof.
move=> qq' le; exists (- Delta%:Z); split=> [|h|h]; rewrite ?mul0n ?mul1n ?normrN //.
- by rewrite subr_le0 near_lo.
- by rewrite opprK ger_addr subr_le0.
Qed.

End Neighbours.

Section Losses.
Context {R : realType}.

(** L(m,k), the loss of [m] BELOW and [k] ABOVE. *)
Definition general_loss (eps1 r : R) (m k : nat) :=
  Num.min ((m + k)%:R * r) (Num.min (eps1 + 2 * k%:R * r) (eps1 + 2 * m%:R * r)).

Definition rising_loss (eps1 r : R) (m k : nat) := Num.min (m%:R * r) (eps1 + k%:R * r).

Definition falling_loss (eps1 r : R) (m k : nat) := Num.min (k%:R * r) (eps1 + m%:R * r).

Definition monotonic_loss eps1 r m k := Num.max (rising_loss eps1 r m k) (falling_loss eps1 r m k).

Lemma le_expR_min (x y u v : R) :
  u <= expR x * v -> u <= expR y * v -> u <= expR (Num.min x y) * v.
Proof. by case: (leP x y). Qed.

End Losses.

(** A transcript's cost, from the most that a positive and a negative cost. *)
Lemma cost_counts {R : realType} {A : choiceType} (positive : pred A) (w : seq A -> A -> R) u v h t :
  (forall h a, w h a <= if positive a then u else v) ->
  cost w h t <= (count positive t)%:R * u + (count (predC positive) t)%:R * v.
Proof.
move=> w_le; elim: t h => [|a t IH] h /=; first by rewrite !mul0r addr0.
apply: le_trans (ler_add (w_le h a) (IH _)) _.
by case: (positive a); rewrite !natrD !mulrDl !mul1r !mul0r !add0r ?addrA // [v + _]addrC.
Qed.

(** A cost of e/Delta per step, for at most j Delta steps. *)
Lemma steps_cost {R : realType} (Delta : nat) (e : R) (x : int) (j : nat) :
  (0 < Delta)%N -> 0 < e -> x <= (j * Delta)%:Z -> e / Delta%:R * x%:~R <= j%:R * e.
Proof.
move=> Delta0 e0 x_le; rewrite mulrAC ler_pdivr_mulr ?ltr0n // mulrAC [leRHS]mulrC.
by rewrite ler_pmul2l // -natrM pmulrn ler_int.
Qed.

Section LaplaceGate.
Context {R : realType}.
Variables (closed : seq bool -> bool) (Delta : nat) (eps1 r : R) (T : seq bool -> int) (n : nat).
Hypotheses (Delta0 : (0 < Delta)%N) (eps10 : 0 < eps1) (r0 : 0 < r).
Implicit Types (q : seq bool -> int) (h t : seq bool).

Definition laplace_gate q : {distr (seq bool) / R} :=
  gate (laplace (eps1 / Delta%:R)) closed (fun h => compare (r / Delta%:R) (q h) (T h)) n.

Local Notation below := (count negb).
Local Notation above := (count id).

Let Delta_gt0 : 0 < Delta%:R :> R. Proof. by rewrite ltr0n. Qed.

Theorem laplace_gate_sums_to_one q : psum (laplace_gate q) = 1.
Proof.
apply: gate_sums_to_one => [|h rho]; first by apply: laplace_sums_to_one; apply: divr_gt0.
by apply: compare_sums_to_one; apply: divr_gt0.
Qed.

Lemma aligned_transcript q q' (e u v : nat) t : shift Delta q q' e u v ->
  laplace_gate q t <=
  expR (e%:R * eps1 + ((above t)%:R * (u%:R * r) + (below t)%:R * (v%:R * r))) * laplace_gate q' t.
Proof.
move=> [s [s_le up down]].
pose w h := answer_cost (r / Delta%:R) s (q' h - q h).
pose c1 := eps1 / Delta%:R * `|s|%:~R.
pose step h := compare (r / Delta%:R) (q' h) (T h).
apply: le_trans (@gate_alignment _ _ _ _ _ step n s c1 w t _ _) _.
- by move=> rho; apply: laplace_mass_ratio; apply: divr_gt0.
- by move=> h rho b; apply: compare_ratio; apply: divr_gt0.
apply: ler_wpmul2r => //; rewrite ler_expR; apply: ler_add; first exact: steps_cost.
apply: (cost_counts (positive := id)) => h b; rewrite /w /answer_cost.
by case: b; apply: steps_cost => //; rewrite le_maxl; apply/andP.
Qed.

Theorem general_transcript q q' t : near Delta q q' ->
  laplace_gate q t <= expR (general_loss eps1 r (below t) (above t)) * laplace_gate q' t.
Proof.
move=> qq'; rewrite /general_loss; apply: le_expR_min; last apply: le_expR_min.
- by have := aligned_transcript t (shift_none qq'); rewrite mul0r add0r mul1r -mulrDl -natrD addnC.
- by have := aligned_transcript t (shift_up qq'); rewrite mul1r mul0r mulr0 addr0 mulrCA mulrA.
- by have := aligned_transcript t (shift_down qq'); rewrite mul1r mul0r mulr0 add0r mulrCA mulrA.
Qed.

Theorem rising_transcript q q' t : near Delta q q' -> (forall h, q h <= q' h) ->
  laplace_gate q t <= expR (rising_loss eps1 r (below t) (above t)) * laplace_gate q' t.
Proof.
move=> qq' le; rewrite /rising_loss; apply: le_expR_min.
- by have := aligned_transcript t (rising_none qq' le); rewrite !mul0r mulr0 !add0r mul1r.
- by have := aligned_transcript t (rising_up qq' le); rewrite !mul1r mul0r mulr0 addr0.
Qed.

Theorem falling_transcript q q' t : near Delta q q' -> (forall h, q' h <= q h) ->
  laplace_gate q t <= expR (falling_loss eps1 r (below t) (above t)) * laplace_gate q' t.
Proof.
move=> qq' le; rewrite /falling_loss; apply: le_expR_min.
- by have := aligned_transcript t (falling_none qq' le); rewrite !mul0r mulr0 add0r addr0 mul1r.
- by have := aligned_transcript t (falling_down qq' le); rewrite !mul1r mul0r mulr0 add0r.
Qed.

Theorem monotonic_transcript q q' t : near Delta q q' -> one_way q q' ->
  laplace_gate q t <= expR (monotonic_loss eps1 r (below t) (above t)) * laplace_gate q' t.
Proof.
move=> qq' [le|le]; [apply: le_trans (rising_transcript t qq' le) _
  | apply: le_trans (falling_transcript t qq' le) _];
  by rewrite ler_wpmul2r // ler_expR le_maxr lexx ?orbT.
Qed.

End LaplaceGate.

(** Lemma 1 of the paper holds whatever the query noise is, also where there is none. *)
Section AllBelow.
Context {R : realType}.
Variables (closed : seq bool -> bool) (Delta : nat) (eps1 : R) (T : seq bool -> int) (n : nat).
Variable nu : seq bool -> {distr int / R}.
Hypotheses (Delta0 : (0 < Delta)%N) (eps10 : 0 < eps1).
Implicit Types (q : seq bool -> int) (h : seq bool).

Definition compare_with (noise : {distr int / R}) (q T rho : int) : {distr bool / R} :=
  \dlet_(x <- noise) dunit (T + rho <= q + x).

Definition any_noise_gate q : {distr (seq bool) / R} :=
  gate (laplace (eps1 / Delta%:R)) closed (fun h => compare_with (nu h) (q h) (T h)) n.

Lemma below_shifted q q' h rho : near Delta q q' ->
  compare_with (nu h) (q h) (T h) rho false <= compare_with (nu h) (q' h) (T h) (rho + Delta%:Z) false.
Proof.
move=> qq'; rewrite /compare_with !dletE; apply: le_psum; last exact: summable_mlet.
move=> x; rewrite mulr_ge0 //= ler_wpmul2l // !dunit1E ler_nat !eqbF_neg -!ltNge.
case: ltP => // lt; rewrite lt0b; have := near_hi h qq'; rewrite ler_subl_addr => le.
by rewrite addrA (le_lt_trans (ler_add le (lexx x))) // -addrA [ltRHS]addrC ltr_add2l.
Qed.

Theorem all_below_costs_eps1 q q' (l : nat) : near Delta q q' ->
  any_noise_gate q (nseq l false) <= expR eps1 * any_noise_gate q' (nseq l false).
Proof.
move=> qq'; rewrite /any_noise_gate /gate !dletE.
rewrite (reindex_psum (P := predT) (h := fun rho : int => rho - Delta%:Z)) //; last first.
  by exists (fun rho => rho + Delta%:Z) => rho _; rewrite ?addrK ?subrK.
apply: le_psum_scaled (summable_mlet _ _ _); first exact: ltW (expR_gt0 _).
- by move=> rho; apply: mulr_ge0.
move=> rho; rewrite mulrA; apply: ler_pmul => //.
- have a0 : 0 < eps1 / Delta%:R by rewrite divr_gt0 ?ltr0n.
  apply: le_trans (laplace_mass_ratio (rho - Delta%:Z) Delta%:Z a0) _; rewrite subrK.
  by rewrite ler_wpmul2r // ler_expR -[leRHS]mul1r; apply: (steps_cost (j := 1)); rewrite ?mul1n.
rewrite !(run_product _ _ _ [::] _ (nseq l false)); apply: ler_wpmul2l; first exact: ler0n.
elim: l [::] => [|l IH] h //=; apply: ler_pmul => //; first exact: along_ge0.
by rewrite -{2}(subrK Delta%:Z rho); apply: below_shifted.
Qed.

End AllBelow.
