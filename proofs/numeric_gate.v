(** * The standard gate with numbers

    Alg. 7 of the paper in full: every ABOVE also releases q h + Lap(Delta/p), drawn afresh. [None] is
    BELOW and [Some v] is ABOVE with the number v ([numeric_answer]); the analyst sees the numbers.
    All else is as in [laplace_gate.v] and [standard_gate.v].

    For a transcript of m BELOW and k ABOVE, Pr[t | D] <= e^L(m,k) Pr[t | D'] with

        general ([numeric_general_transcript]):  min{ (m+k) r,  eps1 + 2 k r,  eps1 + 2 m r } + k p
        rising  ([numeric_rising_transcript]):   max over i <= k of  min{ m r,  eps1 + (k-i) r } + i p
        falling ([numeric_falling_transcript]):  min{ k r,  eps1 + m r } + k p.

    With rho ~ Lap(Delta/eps1), nu ~ Lap(s c Delta/eps2), numbers with Lap(c Delta/eps3), closed after
    c ABOVE, for every number [n] of adaptively chosen questions:

    - [numeric_gate_is_private]: (eps1+eps2+eps3)-DP at s = 2;
    - [monotonic_numeric_gate_is_private]: at s = 1, where all answers move one way,
      (eps1+eps2+eps3 - min(eps1,eps2,eps3))-DP: the smallest share is free;
    - [numeric_laplace_gate_sums_to_one], [numeric_gate_sums_to_one]: these are whole laws.

    The rising bound needs more than two shifts of rho: some answers may rise by a part of Delta. Cut
    Delta into its lattice steps. In each step an answer rises or not, and rho moves or not, as is
    cheaper for that step; rho then moves by the number of steps in which it moved, and the costs of
    an answer are at most those of its steps. So the loss is at most the mean over the steps of a
    loss with whole moves ([step_by_step]). *)

From Sparsegate Require Import prelude privacy sums laplace gate laplace_gate standard_gate.
Local Open Scope ring_scope.

Section NumericAnswer.
Context {R : realType}.
Implicit Types (a b : R) (q T rho s d : int).

(** [None] is BELOW; [Some v] is ABOVE with the number v, the answer with noise of its own. *)
Definition numeric_answer a b q T rho : {distr (option int) / R} :=
  \dlet_(above <- compare a q T rho)
    if above then dmargin (fun z => Some (q + z)) (laplace b) else dunit None.

Lemma numeric_answer_sums_to_one a b q T rho :
  0 < a -> 0 < b -> psum (numeric_answer a b q T rho) = 1.
Proof.
move=> a0 b0; apply: dlet_sums_to_one; first exact: compare_sums_to_one.
case; last exact: dunit_sums_to_one.
apply: dlet_sums_to_one; first exact: laplace_sums_to_one.
by move=> z; apply: dunit_sums_to_one.
Qed.

Lemma numeric_answerE a b q T rho x :
  numeric_answer a b q T rho x =
  if x is Some v then compare a q T rho true * laplace b (v - q) else compare a q T rho false.
Proof.
rewrite /numeric_answer dletE; case: x => [v|].
- rewrite (psum_point (x := true)) => [|[] // _]; last by rewrite dunit1E mulr0.
  rewrite ger0_norm ?mulr_ge0 //; congr (_ * _); rewrite /dmargin dletE (psum_point (x := v - q)).
    by rewrite dunit1E [q + _]addrC subrK eqxx mulr1 ger0_norm.
  move=> z z_ne; rewrite dunit1E; case: eqP => [[z_eq]|_]; last by rewrite mulr0.
  by move: z_ne; rewrite -z_eq [q + z]addrC addrK eqxx.
- rewrite (psum_point (x := false)) => [|[] // _].
    by rewrite dunit1E eqxx mulr1 ger0_norm.
  by rewrite /dmargin [X in _ * X]dlet_eq0 ?mulr0 // => z _.
Qed.

(** What one answer costs where the question moves by [d] and rho is matched with rho + s. *)
Definition numeric_cost a b s d (x : option int) : R :=
  answer_cost a s d (isSome x) + (if x then b * `|d|%:~R else 0).

Lemma numeric_ratio a b q q' T rho s x : 0 < a -> 0 < b ->
  numeric_answer a b q T rho x <=
  expR (numeric_cost a b s (q' - q) x) * numeric_answer a b q' T (rho + s) x.
Proof.
move=> a0 b0; rewrite !numeric_answerE /numeric_cost; case: x => [v|] /=; last first.
  by rewrite addr0; apply: compare_ratio.
rewrite expRD mulrACA; apply: ler_pmul => //; first exact: compare_ratio.
have -> : v - q' = v - q + (q - q') by rewrite addrA subrK.
by rewrite distrC; apply: laplace_mass_ratio.
Qed.

End NumericAnswer.

Section NumericGate.
Context {R : realType}.
Variables (closed : seq (option int) -> bool) (Delta : nat) (eps1 r p : R).
Variables (T : seq (option int) -> int) (n : nat).
Hypotheses (Delta0 : (0 < Delta)%N) (eps10 : 0 < eps1) (r0 : 0 < r) (p0 : 0 < p).
Implicit Types (q : seq (option int) -> int) (h t : seq (option int)).

(** rho of scale Delta/eps1, nu of scale Delta/r, the noise of a number of scale Delta/p. *)
Definition numeric_laplace_gate q : {distr (seq (option int)) / R} :=
  gate (laplace (eps1 / Delta%:R)) closed
    (fun h => numeric_answer (r / Delta%:R) (p / Delta%:R) (q h) (T h)) n.

Local Notation above := (count isSome).
Local Notation below := (count (predC isSome)).

Let rate_gt0 (e : R) : 0 < e -> 0 < e / Delta%:R.
Proof. by move=> e0; rewrite divr_gt0 ?ltr0n. Qed.

Theorem numeric_laplace_gate_sums_to_one q : psum (numeric_laplace_gate q) = 1.
Proof.
apply: gate_sums_to_one => [|h rho]; first exact/laplace_sums_to_one/rate_gt0.
by apply: numeric_answer_sums_to_one; apply: rate_gt0.
Qed.

(** The costs of the answers of [t], rho being matched with rho + s. *)
Let w q q' (s : int) h := numeric_cost (r / Delta%:R) (p / Delta%:R) s (q' h - q h).

Lemma numeric_alignment q q' (s : int) t :
  numeric_laplace_gate q t <=
  expR (eps1 / Delta%:R * `|s|%:~R + cost (w q q' s) [::] t) * numeric_laplace_gate q' t.
Proof.
apply: gate_alignment => [rho|h rho x]; first exact/laplace_mass_ratio/rate_gt0.
by apply: numeric_ratio; apply: rate_gt0.
Qed.

Lemma numeric_aligned q q' (e u v : nat) t : near Delta q q' -> shift Delta q q' e u v ->
  numeric_laplace_gate q t <=
  expR (e%:R * eps1 + ((above t)%:R * (u%:R * r) + (below t)%:R * (v%:R * r)) + (above t)%:R * p) *
  numeric_laplace_gate q' t.
Proof.
move=> qq' [s [s_le up down]]; apply: le_trans (numeric_alignment q q' s t) _.
rewrite ler_wpmul2r // ler_expR -addrA; apply: ler_add; first exact: steps_cost.
rewrite addrAC -mulrDr.
apply: (cost_counts (positive := isSome)) => h x; rewrite /w /numeric_cost.
case: x => [x|] /=; last first.
  by rewrite addr0; apply: steps_cost => //; rewrite le_maxl; apply/andP.
apply: ler_add; first by apply: steps_cost => //; rewrite le_maxl; apply/andP.
by rewrite -[leRHS]mul1r; apply: (steps_cost (j := 1)) => //; rewrite mul1n; apply: qq'.
Qed.

Theorem numeric_general_transcript q q' t : near Delta q q' ->
  numeric_laplace_gate q t <=
  expR (general_loss eps1 r (below t) (above t) + (above t)%:R * p) * numeric_laplace_gate q' t.
Proof.
move=> qq'; rewrite /general_loss !addr_minl; apply: le_expR_min; last apply: le_expR_min.
- by have := numeric_aligned t qq' (shift_none qq'); rewrite mul0r add0r mul1r -mulrDl -natrD addnC.
- by have := numeric_aligned t qq' (shift_up qq'); rewrite mul1r mul0r mulr0 addr0 mulrCA mulrA.
- by have := numeric_aligned t qq' (shift_down qq'); rewrite mul1r mul0r mulr0 add0r mulrCA mulrA.
Qed.

Theorem numeric_falling_transcript q q' t : near Delta q q' -> (forall h, q' h <= q h) ->
  numeric_laplace_gate q t <=
  expR (falling_loss eps1 r (below t) (above t) + (above t)%:R * p) * numeric_laplace_gate q' t.
Proof.
move=> qq' le; rewrite /falling_loss addr_minl; apply: le_expR_min.
- by have := numeric_aligned t qq' (falling_none qq' le); rewrite !mul0r mulr0 add0r addr0 mul1r.
- by have := numeric_aligned t qq' (falling_down qq' le); rewrite !mul1r mul0r mulr0 add0r.
Qed.

(** Where all answers rise, a positive that rises less than rho pays in the comparison and one that
    rises more pays in its number. *)
Definition numeric_rising_loss (m k : nat) : R :=
  \big[Num.max/0]_(i < k.+1) (Num.min (m%:R * r) (eps1 + (k - i)%:R * r) + i%:R * p).

Lemma numeric_rising_loss_ge m k i : (i <= k)%N ->
  Num.min (m%:R * r) (eps1 + (k - i)%:R * r) + i%:R * p <= numeric_rising_loss m k.
Proof.
rewrite -ltnS => ik; rewrite /numeric_rising_loss (bigmaxD1 (Ordinal ik)) //=.
by rewrite le_maxr lexx.
Qed.

Fixpoint steps h t : seq (seq (option int) * option int) :=
  if t is x :: t' then (h, x) :: steps (rcons h x) t' else [::].

Lemma costE (f : seq (option int) -> option int -> R) h t :
  cost f h t = \sum_(y <- steps h t) f y.1 y.2.
Proof. by elim: t h => [|x t IH] h /=; rewrite ?big_nil ?big_cons ?IH. Qed.

Lemma count_steps (P : pred (option int)) h t : count (fun y => P y.2) (steps h t) = count P t.
Proof. by elim: t h => [|x t IH] h //=; rewrite IH. Qed.

(** One lattice step: rho moves in it or not ([moved]), a positive rises in it or not ([rise]). *)
Let rise q q' (i : nat) (y : seq (option int) * option int) :=
  isSome y.2 && (i < `|q' y.1 - q y.1|)%N.

Let pays q q' (moved : bool) (i : nat) (y : seq (option int) * option int) :=
  if isSome y.2 then moved && ~~ rise q q' i y else ~~ moved.

Let sum_lt (D j : nat) : (\sum_(i < D) (i < j) = minn D j)%N.
Proof.
elim: D => [|D IH]; first by rewrite big_ord0 min0n.
rewrite big_ord_recr /= IH; have [jD|] := boolP (D < j)%N; last rewrite -leqNgt => jD.
- by rewrite (minn_idPl (ltnW jD)) (minn_idPl jD) addn1.
- by rewrite (minn_idPr jD) (minn_idPr (leqW jD)) addn0.
Qed.

Lemma step_by_step q q' (moved : nat -> bool) y :
  near Delta q q' -> (forall h, q h <= q' h) ->
  w q q' (\sum_(i < Delta) moved i)%N%:Z y.1 y.2 <=
  Delta%:R^-1 * \sum_(i < Delta) ((pays q q' (moved i) i y)%:R * r + (rise q q' i y)%:R * p).
Proof.
move=> qq' le; rewrite /w /numeric_cost /answer_cost /pays /rise.
case: y => h x /=; set s := (\sum_(i < _) _)%N.
have [j [-> jD]] : exists j : nat, q' h - q h = j /\ (j <= Delta)%N.
  exists `|q' h - q h|%N; split; first by rewrite gez0_abs ?subr_ge0.
  by have := near_hi h qq'; rewrite -[q' h - q h]gez0_abs ?subr_ge0 // lez_nat.
rewrite absz_nat big_split /= -!mulr_suml -!natr_sum.
have rate (e : R) (z : int) (N : nat) : 0 < e -> z <= N%:Z ->
    e / Delta%:R * z%:~R <= Delta%:R^-1 * (N%:R * e).
  move=> e0 zN; rewrite mulrAC mulrC; apply: ler_wpmul2l; first by rewrite invr_ge0 ler0n.
  by rewrite mulrC ler_pmul2r // pmulrn ler_int.
rewrite mulrDr; apply: ler_add.
- apply: rate => //; rewrite le_maxl lez_nat leq0n /=; case: x => [x|] /=.
  + rewrite ler_subl_addr -PoszD lez_nat -{2}(minn_idPr jD) -sum_lt -big_split /=.
    by apply: leq_sum => i _; case: (moved i); case: (i < j)%N.
  + rewrite ler_subl_addr -PoszD lez_nat -big_split /= (leq_trans jD) //.
    by rewrite -{1}[Delta]card_ord -sum1_card; apply: leq_sum => i _; case: (moved i).
- case: x => [x|] /=; first by rewrite sum_lt (minn_idPr jD); apply: rate.
  by rewrite big1_eq mul0r mulr0.
Qed.

Let sum_count (Y : eqType) (P : pred Y) (ys : seq Y) (e : R) :
  \sum_(y <- ys) (P y)%:R * e = (count P ys)%:R * e.
Proof. by rewrite -mulr_suml -natr_sum -sum1_count [in RHS]big_mkcond. Qed.

Lemma rise_counts q q' i t (m := below t) (k := above t) (l := count (rise q q' i) (steps [::] t)) :
  (l <= k)%N /\
  (forall moved, count (pays q q' moved i) (steps [::] t) = if moved then k - l else m)%N.
Proof.
have split_k : (count (pays q q' true i) (steps [::] t) + l = k)%N.
  rewrite /l /k -(count_steps isSome [::]); elim: (steps _ t) => //= y ys <-.
  by rewrite addnACA /pays /rise; case: (y.2) => //= z; case: (_ < _)%N.
split=> [|[]]; first by rewrite -split_k leq_addl.
- by rewrite -split_k addnK.
rewrite /m -(count_steps (predC isSome) [::]); apply: eq_count => y.
by rewrite /pays /=; case: (y.2).
Qed.

(** In each of the Delta steps the smaller of the two losses is paid. *)
Theorem numeric_rising_transcript q q' t : near Delta q q' -> (forall h, q h <= q' h) ->
  numeric_laplace_gate q t <=
  expR (numeric_rising_loss (below t) (above t)) * numeric_laplace_gate q' t.
Proof.
move=> qq' le; set m := below t; set k := above t.
pose l i := count (rise q q' i) (steps [::] t).
pose moved i := eps1 + (k - l i)%:R * r <= m%:R * r.
apply: le_trans (numeric_alignment q q' (\sum_(i < Delta) moved i)%N%:Z t) _.
rewrite ler_wpmul2r // ler_expR costE.
apply: le_trans (ler_add (lexx _) (ler_sum _ _)) _; first by move=> y _; apply: step_by_step qq' le.
have -> (N : nat) : `|N%:Z|%:~R = N%:R :> R by [].
rewrite -mulr_sumr exchange_big /= natr_sum [eps1 / _]mulrC -mulrA -mulrDr.
rewrite mulr_sumr -big_split /= mulrC ler_pdivr_mulr ?ltr0n //.
rewrite mulr_natr -[in leRHS](card_ord Delta) -sumr_const; apply: ler_sum => i _.
rewrite big_split /= !sum_count; have [lk ->] := rise_counts q q' i t.
apply: le_trans (numeric_rising_loss_ge m lk); rewrite addrA ler_add2r /moved.
rewrite -/(l i) -/k -/m; case: (leP (eps1 + _) (m%:R * r)) => _; rewrite ?mulr1 //.
by rewrite mulr0 add0r.
Qed.

End NumericGate.

Section Private.
Context {R : realType}.
Variables (c Delta : nat) (eps1 eps2 eps3 : R) (T : seq (option int) -> int) (n : nat).
Hypotheses (c0 : (0 < c)%N) (Delta0 : (0 < Delta)%N).
Hypotheses (eps10 : 0 < eps1) (eps20 : 0 < eps2) (eps30 : 0 < eps3).
Implicit Types (q : seq (option int) -> int).

(** rho of scale Delta/eps1, nu of scale s c Delta/eps2, numbers with noise of scale c Delta/eps3,
    closed after c ABOVE. *)
Definition numeric_gate (s : nat) q : {distr (seq (option int)) / R} :=
  numeric_laplace_gate (closed_after isSome c) Delta eps1 (eps2 / (s * c)%:R) (eps3 / c%:R) T n q.

Let rate_gt0 (e : R) (s : nat) : (0 < s)%N -> 0 < e -> 0 < e / s%:R.
Proof. by move=> s0 e0; rewrite divr_gt0 // ltr0n. Qed.

Let share (e : R) (s k : nat) : (0 < s)%N -> (k <= s)%N -> 0 < e -> k%:R * (e / s%:R) <= e.
Proof.
move=> s0 ks e0; rewrite mulrCA ger_pmulr // ler_pdivr_mulr ?ltr0n // mul1r.
by rewrite ler_nat.
Qed.

Theorem numeric_gate_sums_to_one s q : (0 < s)%N -> psum (numeric_gate s q) = 1.
Proof.
move=> s0; apply: numeric_laplace_gate_sums_to_one => //; apply: rate_gt0 => //.
by rewrite muln_gt0 s0.
Qed.

Theorem numeric_gate_is_private q q' :
  near Delta q q' -> within (eps1 + eps2 + eps3) (numeric_gate 2 q) (numeric_gate 2 q').
Proof.
move=> qq'; apply: gate_within => t kc; set k := count isSome t.
have c2 : (0 < 2 * c)%N by rewrite muln_gt0 c0.
apply: le_trans (numeric_general_transcript (closed_after isSome c) T n Delta0 eps10
  (rate_gt0 c2 eps20) (rate_gt0 c0 eps30) t qq') _.
rewrite ler_wpmul2r // ler_expR; apply: ler_add; last exact: share.
rewrite /general_loss !le_minl; apply/orP; right; apply/orP; left.
by rewrite ler_add2l -natrM; apply: share => //; rewrite leq_mul2l kc orbT.
Qed.

(** The smallest share is free. *)
Theorem monotonic_numeric_gate_is_private q q' : near Delta q q' -> one_way q q' ->
  within (eps1 + eps2 + eps3 - Num.min eps1 (Num.min eps2 eps3)) (numeric_gate 1 q) (numeric_gate 1 q').
Proof.
move=> qq' way; apply: gate_within => t kc; set k := count isSome t.
have c1 : (0 < 1 * c)%N by rewrite mul1n.
have r0 := rate_gt0 c1 eps20; have p0 := rate_gt0 c0 eps30.
case: way => le.
- apply: le_trans (numeric_rising_transcript (closed_after isSome c) T n Delta0 eps10 r0 p0 t qq' le) _.
  rewrite ler_wpmul2r // ler_expR.
  apply: le_trans (_ : eps1 + Num.max eps2 eps3 <= _).
    apply: bigmax_le => [|[i ik] _] /=; first by rewrite addr_ge0 ?le_maxr ?(ltW eps10) ?(ltW eps20).
    rewrite ltnS in ik; apply: le_trans (_ : eps1 + (k - i)%:R * (eps2 / c%:R) + i%:R * (eps3 / c%:R) <= _).
      by rewrite mul1n ler_add2r le_minl lexx orbT.
    set e := Num.max _ _; rewrite -addrA ler_add2l.
    apply: le_trans (_ : (k - i)%:R * (e / c%:R) + i%:R * (e / c%:R) <= _).
      by apply: ler_add; rewrite ler_wpmul2l ?ler0n // ler_pmul2r ?invr_gt0 ?ltr0n //
        le_maxr lexx ?orbT.
    by rewrite -mulrDl -natrD subnK //; apply: share => //; rewrite lt_maxr eps20.
  rewrite -!addrA ler_add2l addrA ler_subr_addr -(addr_max_min eps2 eps3) ler_add2l.
  by rewrite le_minl lexx orbT.
- apply: le_trans (numeric_falling_transcript (closed_after isSome c) T n Delta0 eps10 r0 p0 t qq' le) _.
  rewrite ler_wpmul2r // ler_expR.
  apply: le_trans (_ : eps2 + eps3 <= _).
    rewrite /falling_loss addr_minl le_minl; apply/orP; left.
    by rewrite mul1n ler_add // share.
  by rewrite ler_subr_addr -[eps1 + _ + _]addrA [leRHS]addrC ler_add2l le_minl lexx.
Qed.

End Private.
