(** * The ledger decides: gates of one bit, with their noise

    ledger_privacy.v for the gates of metered_rows.v, standard, two-sided or with exponential noise: the machine of
    ledger.v counts their L(m, k) as ledger_losses.v has it, in rational numbers, and the gates draw the noise of
    [standard_gate.v], [two_sided_gate.v] and [exponential_gate.v].

    - A gate is a [row] of rational numbers, chosen when it is opened by whoever asks, with all answers of all gates so
      far in view. [real_row p]: the same with real numbers. [proper_row p]: the ledger opens no other.
    - [law_of p]: what the ledger knows of it. (Absolute values are there for this to be a law whatever [p] is.)
      [most p]: after how many questions it is through, if that is limited.

    [metered_by_the_ledger]: the ledger's L(m, k) is no less than what the answers of the gate cost.
    [ledger_rows_are_private]: under a budget B the joint history of all gates that the ledger lets happen is B-DP,
    opened, asked, lost and shut as one likes. [ledger_rows_sum_to_one]: it is a whole law. *)

From mathcomp Require Import rat.
From Sparsegate Require Import prelude privacy laplace_gate transcripts exponential_gate side_by_side metered_rows.
From Sparsegate Require ledger_gates ledger_losses.
From Sparsegate Require Import ledger_privacy.
Local Open Scope ring_scope.

Module K := ledger_losses.

Section Law.
Implicit Types (p : row [choiceType of rat]).
Variable most : row [choiceType of rat] -> option nat.

Definition proper_row p :=
  [&& (0 < Delta p)%N, (0 < cutoff p)%N, 0 < eps1 p, 0 < eps2 p & ~~ (one_sided_noise p && two_sided p)].

Definition share p : rat := `|eps1 p|.
Definition rate_of p : rat := `|eps2 p| / (sides (monotonic p) * cutoff p)%:R.

Lemma share_ge0 p : 0 <= share p. Proof. exact: normr_ge0. Qed.
Lemma step_ge0 p : 0 <= rate_of p. Proof. by rewrite divr_ge0 ?normr_ge0 ?ler0n. Qed.

Definition law_of p : G.spec :=
  let the (gate : forall e r : rat, nat -> option nat -> 0 <= e -> 0 <= r -> G.spec) :=
    gate _ _ (cutoff p) (most p) (share_ge0 p) (step_ge0 p) in
  if one_sided_noise p then
    if monotonic p then the K.exponential_monotonic_gate else the K.exponential_general_gate
  else if two_sided p then
    if monotonic p then the K.two_sided_monotonic_gate else the K.two_sided_general_gate
  else if monotonic p then the K.laplace_monotonic_gate else the K.laplace_general_gate.

Definition loss_row p :=
  if one_sided_noise p then
    if monotonic p then K.exponential_monotonic (share p) (rate_of p) else K.exponential_general (share p) (rate_of p)
  else if monotonic p then K.laplace_monotonic (share p) (rate_of p) else K.laplace_general (share p) (rate_of p).

Lemma law_loss p m k : G.loss (law_of p) m k = loss_row p m k.
Proof. by rewrite /law_of /loss_row; case: (one_sided_noise p); case: (two_sided p); case: (monotonic p). Qed.

Lemma law_grows p m k m' k' : (m <= m')%N -> (k <= k')%N -> G.loss (law_of p) m k <= G.loss (law_of p) m' k'.
Proof.
move=> le_m le_k; rewrite !law_loss /loss_row; have e0 := share_ge0 p; have r0 := step_ge0 p.
case: (one_sided_noise p); case: (monotonic p).
- exact: K.exponential_monotonic_grows.
- exact: K.exponential_general_grows.
- exact: K.laplace_monotonic_grows.
exact: K.laplace_general_grows.
Qed.

(** What is charged. *)
Lemma law_charge p : proper_row p -> G.epsilon (law_of p) = eps1 p + eps2 p.
Proof.
case/and5P=> _ c0 e1 e2 _; have share_eq : share p = eps1 p by rewrite /share gtr0_norm.
have step_eq : rate_of p = eps2 p / (sides (monotonic p) * cutoff p)%:R by rewrite /rate_of gtr0_norm.
have nz n : (0 < n)%N -> n%:R != 0 :> rat by rewrite pnatr_eq0 -lt0n.
suff : G.epsilon (law_of p) = if monotonic p then K.eps_monotonic (share p) (rate_of p) (cutoff p)
    else K.eps_general (share p) (rate_of p) (cutoff p).
  move=> ->; rewrite /K.eps_monotonic /K.eps_general share_eq step_eq; case: (monotonic p) => /=.
    by rewrite mul1n mulrC mulfVK ?nz.
  by rewrite mulrC mulfVK // nz // muln_gt0.
by rewrite /law_of; case: (one_sided_noise p); case: (two_sided p); case: (monotonic p).
Qed.

End Law.

Section Gates.
Context {R : realType}.
Notation rows := [choiceType of row [choiceType of rat]].
Notation history := (@history rows [choiceType of bool]).
Implicit Types (p : rows) (q T : rows -> history -> int) (s : seq bool).
Variables (most : rows -> option nat) (refund : rows -> bool) (lost : history -> seq nat) (B : rat).

Definition real_row p : row R := Row (one_sided_noise p) (two_sided p) (monotonic p) (Delta p) (cutoff p) (kappa p)
  (ratr (eps1 p)) (ratr (eps2 p)).

Lemma real_proper p : proper_row p -> proper (real_row p).
Proof. by rewrite /proper /= !ltr0q. Qed.

Lemma ratr_min (x y : rat) : ratr (Num.min x y) = Num.min (ratr x) (ratr y) :> R.
Proof. by rewrite !minEle ler_rat; case: ifP. Qed.

Lemma ratr_max (x y : rat) : ratr (Num.max x y) = Num.max (ratr x) (ratr y) :> R.
Proof. by rewrite !maxEle ler_rat; case: ifP. Qed.

Theorem metered_by_the_ledger p s : proper_row p ->
  meter (real_row p) s <= ratr (loss_of (law_of most) id p s).
Proof.
move=> ok; have /and5P[_ _ e1 e2 _] := ok; rewrite /loss_of law_loss /meter /loss_row.
have shareE : ratr (share p) = eps1 (real_row p) by rewrite /share gtr0_norm.
have stepE : ratr (rate_of p) = rate (real_row p) by rewrite /rate_of gtr0_norm // /rate fmorph_div /= ratr_nat.
have e0 : 0 <= eps1 (real_row p) by rewrite -shareE ler0q share_ge0.
have r0 : 0 <= rate (real_row p) by rewrite -stepE ler0q step_ge0.
have below : count (predC id) s = count negb s by apply: eq_count.
rewrite below; move: (count negb s) (count id s) (share p) (rate_of p) shareE stepE => m k e r shareE stepE /=.
have pos n : 0 <= n%:R * rate (real_row p) by rewrite mulr_ge0 ?ler0n.
case: (one_sided_noise p); case: (monotonic p) => /=.
- rewrite /K.exponential_monotonic lt0n; case: eqP => _ /=.
    by rewrite rmorphM /= ratr_nat stepE le_maxl pos lexx.
  by rewrite rmorphD rmorphM /= ratr_nat stepE shareE le_maxl lexx ler_addr.
- rewrite /K.exponential_general lt0n; case: eqP => _ /=; first by rewrite rmorphM /= ratr_nat stepE.
  by rewrite rmorphD rmorphM /= ratr_nat stepE shareE natrM mulrCA mulrA.
- rewrite /laplace_loss /K.laplace_monotonic ratr_max !ratr_min !rmorphD !rmorphM /= !ratr_nat shareE stepE.
  by rewrite lexx.
rewrite /laplace_loss /K.laplace_general !ratr_min !rmorphD !rmorphM /= !ratr_nat shareE stepE.
by rewrite /general_loss natrD !natrM lexx.
Qed.

Definition ledger_rows act q T n : {distr history / R} :=
  decided (fun p => threshold_noise (real_row p)) proper_row (law_of most) refund id B lost act
    (fun p h => answer (real_row p) (q p h) (T p h)) n.

Theorem ledger_rows_are_private act q q' T n :
  0 <= B -> (forall p, neighbours (monotonic p) (Delta p) (q p) (q' p)) ->
  within (ratr B) (ledger_rows act q T n) (ledger_rows act q' T n).
Proof.
move=> B0 near_q; apply: ledger_decides_privately => // [p m k m' k' _|p l ok]; first exact: law_grows.
have near_p : neighbours (monotonic (real_row p)) (Delta (real_row p)) (q p) (q' p) by apply: near_q.
apply: le_trans (meter_ratio (T p) l (real_proper ok) near_p) _.
by rewrite ler_wpmul2r ?ge0_psum // ler_expR metered_by_the_ledger.
Qed.

Theorem ledger_rows_sum_to_one act q T n : psum (ledger_rows act q T n) = 1.
Proof.
apply: ledger_decides_a_whole_law => p => [|h x] /real_proper.
  exact: threshold_noise_sums_to_one.
exact: answer_sums_to_one.
Qed.

End Gates.
